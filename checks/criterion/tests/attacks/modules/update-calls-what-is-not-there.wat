;; trapped | rows 1 to 3
(table 1 funcref)
(type $t (func (result i32)))
(func $update (param i32) (result i32) (call_indirect (type $t) (i32.const 0)))
