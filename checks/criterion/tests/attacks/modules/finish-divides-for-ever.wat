;; out_of_fuel | its verdict
(func $finish (result i32)
  (local $x i64)
  (local.set $x (i64.const -1))
  (loop
    (local.set $x (i64.rem_u (i64.const -3) (i64.or (i64.rem_u (i64.const -5) (i64.or (i64.div_u (i64.const -7) (i64.or (local.get $x) (i64.const 3))) (i64.const 1))) (i64.const 1))))
    (br 0))
  unreachable)
