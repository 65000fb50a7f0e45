"""What reviewers are asked besides their decision: one YAML file a form, ours here, others' where they lie."""

from eyetest.review.forms.form import (
    KINDS,
    Answerable,
    Form,
    FormField,
    check_edits,
    check_labels,
    form_names,
    load_form,
)

__all__ = ["KINDS", "Answerable", "Form", "FormField", "check_edits", "check_labels", "form_names", "load_form"]
