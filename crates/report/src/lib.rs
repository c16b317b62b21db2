//! Figures and self-contained HTML pages.
#![forbid(unsafe_code)]
