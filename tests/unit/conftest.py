"""What all unit tests share: examples that hypothesis tries may take as long as they take on a busy machine."""

from hypothesis import settings

settings.register_profile("coxswain", deadline=None)
settings.load_profile("coxswain")
