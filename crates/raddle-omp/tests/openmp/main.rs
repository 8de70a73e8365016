//! The programs of the group of tests `openmp`, which `unit` leaves out by their module's name.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod binding;
mod in_c;
#[path = "../../../raddle-core/tests/support/own_folder.rs"]
mod own_folder;
#[path = "../../../raddle-core/tests/support/succeed.rs"]
mod succeed;
