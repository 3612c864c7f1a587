;; misdescribed | 5000 bytes of meaning; the limit is 4096
(func $describe (result i32)
  (i32.store (i32.const 1040) (i32.const 65536))
  (i32.store (i32.const 1044) (i32.const 5000))
  i32.const 1024)
