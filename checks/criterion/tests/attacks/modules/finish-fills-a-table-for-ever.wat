;; out_of_fuel | its verdict
(table $t 50000 funcref)
(elem declare func $finish)
(func $finish (result i32)
  (loop (table.fill $t (i32.const 0) (ref.func $finish) (i32.const 50000)) (br 0))
  unreachable)
