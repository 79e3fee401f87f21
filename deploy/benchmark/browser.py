"""Uploads files by the page of deploy/web in headless Chromium, then by the fewest lines that do the same, and prints the
seconds that each took. Called by web.py, with Debian's Python, which has selenium: browser.py PAGE TOKEN-FILE OTHER-TOKEN-FILE FILE…"""

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

# The least that a browser needs: no list, no progress, no second attempt.
_BARE = """
const [token, atOnce, done] = arguments, files = [...document.getElementById("bare").files], began = performance.now();
const send = async () => {
    for (let file = files.shift(); file; file = files.shift()) {
        const query = `contentType=${encodeURIComponent(file.type)}&contentLength=${file.size}`;
        const place = await (await fetch(`/v2/attachments/presigned?${query}`, { headers: { Authorization: `Bearer ${token}` } })).json();
        await new Promise((resolve, reject) => {
            const request = new XMLHttpRequest();
            request.open("PUT", place.uploadUrl);
            for (const [name, value] of Object.entries(place.headers)) {
                if (name.toLowerCase() !== "content-length") request.setRequestHeader(name, value);
            }
            request.onloadend = () => request.status === 200 ? resolve() : reject(new Error(`status ${request.status}`));
            request.send(file);
        });
    }
};
Promise.all(Array.from({ length: atOnce }, send)).then(() => done((performance.now() - began) / 1000), (error) => done(String(error)));
"""
_INPUT = """
const input = Object.assign(document.createElement("input"), { type: "file", multiple: true, id: "bare" });
document.body.append(input);
"""
_AT_ONCE = 6


def _bare(browser, token, files):
    browser.execute_script(_INPUT)
    browser.find_element(By.ID, "bare").send_keys("\n".join(files))
    browser.set_script_timeout(60)
    return browser.execute_async_script(_BARE, token, _AT_ONCE)


def _signed_in(browser):
    """Tries again when STS was too slow for the worker, which has just started."""
    if browser.find_element(By.ID, "sign-in-button").is_enabled() and browser.find_element(By.ID, "token").is_displayed():
        browser.find_element(By.ID, "token").send_keys(Keys.ENTER)
    return browser.find_element(By.ID, "empty").is_displayed()


def main():
    page, token, other, *files = sys.argv[1:]
    browser = chromium.start()
    try:
        wait = WebDriverWait(browser, 30, poll_frequency=0.5)
        browser.get(page)
        wait.until(lambda _: browser.find_element(By.ID, "token").is_displayed())
        browser.find_element(By.ID, "token").send_keys(pathlib.Path(token).read_text().strip())
        wait.until(lambda _: _signed_in(browser))
        browser.execute_script(_WATCH, f"{len(files)} of {len(files)}")
        browser.find_element(By.ID, "files").send_keys("\n".join(files))
        page = wait.until(lambda _: browser.execute_script("return window.seconds"))
        bare = _bare(browser, pathlib.Path(other).read_text().strip(), files)
        if not isinstance(bare, float):
            sys.exit(f"without the page: {bare}")
        print(page, bare)
    except TimeoutException:
        sys.exit("the page shows: " + browser.find_element(By.TAG_NAME, "body").text[:200])
    finally:
        browser.quit()


main()
