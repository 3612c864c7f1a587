;; other_contract | does not export
(component (core module $m) (export "fascicolo:criterion/criterion@0.1.0" (core module $m)))
