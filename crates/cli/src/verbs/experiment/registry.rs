//! Every experiment of every lens, in the order of the list.

use polariscope_experiment::Entry;

/// Every experiment.
pub fn entries() -> impl Iterator<Item = &'static dyn Entry> {
    polariscope_geometry_experiments::entries()
        .chain(polariscope_kernels::experiments::entries())
        .chain(polariscope_landscape_experiments::entries())
        .chain(polariscope_symmetry_experiments::entries())
}

/// The experiment of a name.
pub fn entry(name: &str) -> Option<&'static dyn Entry> {
    entries().find(|entry| entry.about().name == name)
}
