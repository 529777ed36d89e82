//! Properties of the namespaces on this machine's kernel. If the kernel allows none, each test
//! prints why it was skipped.
#![cfg(target_os = "linux")]

mod endings;
#[path = "../common/ignored.rs"]
mod ignored;
mod isolation;
mod ordinary_user;
mod path;
mod programs;
mod relay;

use forebay_kernel::missing::Missing;
use forebay_kernel::namespaces::{Namespaces, Setup};

/// The namespaces; `None` after printing why they are not available.
fn make(setup: &Setup) -> Option<Namespaces> {
    match Namespaces::make(setup) {
        Ok(namespaces) => Some(namespaces),
        Err(missing) if is_about_the_machine(&missing) => {
            eprintln!("skipped: {missing}");
            assert!(std::env::var_os("FOREBAY_NO_SKIP").is_none(), "{missing}");
            None
        }
        Err(missing) => panic!("{missing}"),
    }
}

fn is_about_the_machine(missing: &Missing) -> bool {
    matches!(
        missing,
        Missing::NoTunDevice
            | Missing::TunNotOpened { .. }
            | Missing::TunRefused { .. }
            | Missing::UserNamespaces { .. }
            | Missing::Namespaces { .. }
    )
}
