//! The memory functions of the canonical ABI.

use std::alloc::{self, Layout};
use std::ptr::NonNull;

/// Frees a block when dropped; the generated bindings hold it while they lower a value.
pub struct Cleanup {
    ptr: NonNull<u8>,
    layout: Layout,
}

impl Cleanup {
    /// A block of `layout`, and what frees it. A block of no bytes needs neither.
    pub fn new(layout: Layout) -> (*mut u8, Option<Cleanup>) {
        if layout.size() == 0 {
            return (std::ptr::null_mut(), None);
        }
        // SAFETY: the size is not 0.
        let ptr = unsafe { alloc::alloc(layout) };
        match NonNull::new(ptr) {
            Some(block) => (ptr, Some(Cleanup { ptr: block, layout })),
            None => alloc::handle_alloc_error(layout),
        }
    }

    /// Leaves the block to whoever holds the pointer now.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        // SAFETY: `new` allocated `ptr` with `layout`, and `forget` is the only other way to end a `Cleanup`.
        unsafe { alloc::dealloc(self.ptr.as_ptr(), self.layout) }
    }
}

/// Rust has no constructors to run.
pub fn run_ctors_once() {}

/// The allocator that the host writes arguments through.
///
/// # Safety
/// As for `realloc`: `old_ptr` is a block of `old_len` bytes of alignment `align`, or anything if `old_len` is 0.
pub unsafe fn cabi_realloc(old_ptr: *mut u8, old_len: usize, align: usize, new_len: usize) -> *mut u8 {
    // SAFETY: the caller keeps the contract above; sizes come from the canonical ABI, whose alignments are powers of 2.
    unsafe {
        let (ptr, layout) = if old_len == 0 {
            if new_len == 0 {
                return align as *mut u8;
            }
            let layout = Layout::from_size_align_unchecked(new_len, align);
            (alloc::alloc(layout), layout)
        } else {
            let layout = Layout::from_size_align_unchecked(old_len, align);
            (alloc::realloc(old_ptr, layout, new_len), layout)
        };
        if ptr.is_null() {
            alloc::handle_alloc_error(layout);
        }
        ptr
    }
}
