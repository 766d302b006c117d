"""Methods and preprocessings of stage lupi: their names, in the order in which they are shown."""

METHOD_NAMES = {
    "majority": "majority class",
    "surf": "regular features",
    "surf-scaled": "regular features, unit scale",
    "random": "random features",
    "rcca": "RCCA",
    "rcca-least-reg": "RCCA, smallest reg",
    "rcca-crossfit": "RCCA, cross-fitted",
    "surf+rcca": "regular features + RCCA",
    "rcca-five": "RCCA, five directions",
    "rcca-y": "RCCA, label only",
    "rcca-attributes": "RCCA, attributes only",
    "rcca-permuted-animals": "RCCA, class-permuted attributes",
    "rcca-permuted-images": "RCCA, row-permuted attributes",
    "rcca-animal": "RCCA, class as label",
    "lda": "discriminants of the classes",
    "svm+": "SVM+",
    "attributes": "attributes (oracle)",
    "attributes-permuted": "permuted attributes (oracle)",
}
PREPROCESSING_NAMES = {
    "raw": "raw counts",
    "unit": "unit-norm counts",
    "zscore": "z-scores",
    "hellinger": "Hellinger",
}
