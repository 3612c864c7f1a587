//! The only hand-written unsafe code of the product: loading a vendor's library and calling three shapes of function.
//!
//! Owns: the loaded library and the signatures it is called with. Must not know: what a code means.
//! Called in a probe's child process only; a library that crashes or hangs takes nothing else with it.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};

use libloading::Library;

/// A vendor's library, loaded into this process.
pub(crate) struct Vendor(Library);

impl Vendor {
    /// Loads the library of this name by the system's search rules.
    /// # Errors
    /// The loader's own words.
    pub(crate) fn load(name: &str) -> Result<Self, String> {
        // SAFETY: initialisers of the library run here. They are the vendor's, they may do anything, and that is why
        // this process does nothing else and is thrown away afterwards.
        unsafe { Library::new(name) }.map(Vendor).map_err(|e| {
            // The loader's sentence is the cause of libloading's own; it alone names the missing file.
            std::error::Error::source(&e).map_or_else(|| e.to_string(), ToString::to_string)
        })
    }

    /// Calls `int symbol(unsigned int)`, the shape of `cuInit` and `hipInit`; `None` if there is no such symbol.
    pub(crate) fn call_with_flags(&self, symbol: &str, flags: u32) -> Option<i32> {
        // SAFETY: both vendors declare their init functions as one unsigned argument and an enum of C's int; the
        // library stays loaded while the function runs, because `self` is borrowed.
        unsafe {
            let function = self.0.get::<unsafe extern "C" fn(c_uint) -> c_int>(symbol).ok()?;
            Some(function(flags))
        }
    }

    /// Calls `int symbol(int *out)`, the shape of `cuDeviceGetCount`, `cuDriverGetVersion`, `hipGetDeviceCount`:
    /// the code returned and the number written; `None` if there is no such symbol.
    pub(crate) fn call_for_number(&self, symbol: &str) -> Option<(i32, i32)> {
        let mut number: c_int = 0;
        // SAFETY: as above; `number` is a live, aligned C int for the whole call, and these functions write at most
        // one int through their only pointer.
        let code = unsafe {
            let function = self.0.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(symbol).ok()?;
            function(&raw mut number)
        };
        Some((code, number))
    }
}
