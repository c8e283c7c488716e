"""The page of a browser test: offline, with a record of its requests and complaints."""

import pytest

DEPRECATED = "ScriptProcessorNode is deprecated"  # it needs no code from a blob


@pytest.fixture
def page(browser):
    """A page without a network, and what it asked for and complained about."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.asked, page.complaints = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda message: DEPRECATED in message.text or page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    yield page
    context.close()
