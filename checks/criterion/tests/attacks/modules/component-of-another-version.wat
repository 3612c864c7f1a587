;; other_contract | does not export
(component (instance $i) (export "fascicolo:criterion/criterion@0.2.0" (instance $i)))
