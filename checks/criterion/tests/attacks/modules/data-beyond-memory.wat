;; trapped | out of bounds
(data (i32.const 0x7fff0000) "x")
