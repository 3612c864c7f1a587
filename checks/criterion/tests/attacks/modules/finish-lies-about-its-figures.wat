;; trapped | out of bounds
(func $finish (result i32) (i32.store (i32.const 2068) (i32.const 0x0fffffff)) i32.const 2048)
