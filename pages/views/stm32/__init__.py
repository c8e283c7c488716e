"""The parts of the STM32 page."""
