"""A pytest plugin: Hypothesis tries the same examples each time, takes its time, and shrinks nothing."""

import hypothesis

hypothesis.settings.register_profile(
    "every time the same",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
hypothesis.settings.load_profile("every time the same")
