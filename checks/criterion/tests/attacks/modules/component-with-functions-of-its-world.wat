;; other_contract | does not export
(component
  (core module $m (func (export "f")))
  (core instance $c (instantiate $m))
  (func $f (canon lift (core func $c "f")))
  (export "describe" (func $f)) (export "finish" (func $f)))
