"""Parts of the STM32 page."""
