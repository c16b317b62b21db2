//! Large arrays in large pages.
//!
//! The first touch of a fresh page of 4 kB costs the system about a microsecond, so a matrix of 64 MB costs 16 ms before
//! anything is computed. Linux has pages of 2 MB for memory that asks for them; [`LargePages`] is the system's allocator
//! and asks for arrays of 4 MB and more. On other systems it asks for nothing.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: polariscope_allocator::LargePages = polariscope_allocator::LargePages;
//!
//! assert_eq!(vec![1.0f64; 1 << 20].iter().sum::<f64>(), 1_048_576.0);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, in large pages where arrays are large.
#[derive(Clone, Copy, Debug)]
pub struct LargePages;

/// Bytes from which on large pages are asked for: two of them.
const LARGE: usize = 4 << 20;

// SAFETY: every call goes to `System` with the caller's own arguments, and its answer goes back unchanged; asking for
// large pages changes neither address nor contents.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that `System` asks for.
        asked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that `System` asks for.
        asked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promises are those that `System` asks for.
        asked(unsafe { System.realloc(at, layout, size) }, size)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.dealloc(at, layout) }
    }
}

/// The same memory, in large pages if the system likes.
#[cfg(target_os = "linux")]
fn asked(at: *mut u8, size: usize) -> *mut u8 {
    const PAGE: usize = 4096;
    if size >= LARGE && !at.is_null() {
        // Whole pages inside the array.
        let before = at.addr().next_multiple_of(PAGE) - at.addr();
        let length = (size - before) / PAGE * PAGE;
        // SAFETY: the range lies in memory that was just allocated; the advice keeps its contents, and a refusal is no
        // harm.
        unsafe {
            libc::madvise(at.wrapping_add(before).cast(), length, libc::MADV_HUGEPAGE);
        }
    }
    at
}

#[cfg(not(target_os = "linux"))]
fn asked(at: *mut u8, _: usize) -> *mut u8 {
    at
}

#[cfg(test)]
mod tests {
    use super::LargePages;

    #[global_allocator]
    static ALLOCATOR: LargePages = LargePages;

    /// Zeros are zeros, and what was written stays when an array grows and shrinks over the threshold.
    #[test]
    fn contents_stay() {
        let mut numbers = vec![0u64; 1 << 16];
        for doubling in 17..22 {
            let before = numbers.len();
            numbers.resize(1 << doubling, 0);
            assert!(numbers[before..].iter().all(|&n| n == 0));
            (0u64..).zip(&mut numbers).for_each(|(i, n)| *n = i);
        }
        numbers.truncate(1000);
        numbers.shrink_to_fit();
        assert!((0u64..).zip(&numbers).all(|(i, &n)| n == i));
        assert!(vec![0u64; 1 << 21].iter().all(|&n| n == 0));
    }
}
