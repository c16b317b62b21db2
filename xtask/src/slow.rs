//! The tests that `cargo xtask quick` leaves out.

use std::path::Path;

/// Tests that take more than about a second of processor time, by their full names.
const SLOW: [&str; 22] = [
    "browser::reports_look_right_in_a_browser",
    "check::every_control_passes",
    "coherent::stops_on_the_standard_error",
    "coherent_closed::lenet_with_its_max_pools",
    "coherent_closed::small_relu_networks",
    "dipole::wide_convolutions",
    "kernels::wide_networks_converge",
    "exact::densenet",
    "exact::residual_networks_with_and_without_batch_norm",
    "experiment::a_killed_run_ends_as_if_it_had_not_been",
    "geometry::pieces_add_to_the_same_bits",
    "geometry::top_directions_of_a_large_input",
    "kernel::killed_and_sharded_runs_end_with_the_bytes_of_a_whole_one",
    "mean_field::width_approaches_the_limit",
    "predict::and_where_the_spectrum_is_steep",
    "predict::ridge_regression_is_as_accurate_as_predicted",
    "pytorch::resnet50",
    "regress::a_killed_run_ends_as_if_it_had_not_been",
    "train::a_killed_flow_ends_as_if_it_had_not_been",
    "train::a_killed_run_ends_as_if_it_had_not_been",
    "experiments::known_accuracies_are_not_trained_again",
    "experiments::logistic_regression_has_no_preference",
];

/// Runs every test that is not slow, but for examples in documentation.
pub fn all_but(root: &Path) -> Result<(), String> {
    let mut args = vec![
        "test",
        "--workspace",
        "--lib",
        "--bins",
        "--tests",
        "--locked",
        "--",
    ];
    args.extend(SLOW.iter().flat_map(|name| ["--skip", name]));
    crate::cargo(root, &args, None)
}
