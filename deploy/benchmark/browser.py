"""Uploads files by the page of deploy/web in headless Chromium, and prints the seconds that it took. Called by web.py, with
Debian's Python, which has selenium: browser.py PAGE TOKEN-FILE FILE…"""

import pathlib
import sys

from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "checks"))
import chromium

# From the choice until the page has counted all.
_WATCH = """
window.seconds = 0;
let began = 0;
document.getElementById("files").addEventListener("change", () => { began = performance.now(); }, { capture: true });
new MutationObserver(([{ target }]) => {
    if (target.textContent === arguments[0]) window.seconds = (performance.now() - began) / 1000;
}).observe(document.getElementById("count"), { childList: true });
"""


def _signed_in(browser):
    """Tries again when STS was too slow for the worker, which has just started."""
    if browser.find_element(By.ID, "sign-in-button").is_enabled() and browser.find_element(By.ID, "token").is_displayed():
        browser.find_element(By.ID, "token").send_keys(Keys.ENTER)
    return browser.find_element(By.ID, "empty").is_displayed()


def main():
    page, token, *files = sys.argv[1:]
    browser = chromium.start()
    try:
        wait = WebDriverWait(browser, 30, poll_frequency=0.5)
        browser.get(page)
        wait.until(lambda _: browser.find_element(By.ID, "token").is_displayed())
        browser.find_element(By.ID, "token").send_keys(pathlib.Path(token).read_text().strip())
        wait.until(lambda _: _signed_in(browser))
        browser.execute_script(_WATCH, f"{len(files)} of {len(files)}")
        browser.find_element(By.ID, "files").send_keys("\n".join(files))
        print(wait.until(lambda _: browser.execute_script("return window.seconds")))
    except TimeoutException:
        sys.exit("the page shows: " + browser.find_element(By.TAG_NAME, "body").text[:200])
    finally:
        browser.quit()


main()
