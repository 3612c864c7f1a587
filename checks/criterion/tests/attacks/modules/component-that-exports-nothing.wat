;; other_contract | does not export
(component)
