"""Opens nginx/status.html in headless Chromium and prints a line for each thing that is as it should be.

Called by deploy/checks/status: CLOAKROOM_PAGE is the page's address, the argument a folder for pictures.
"""

import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

import chromium
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

_PAGE = os.environ["CLOAKROOM_PAGE"]
_PICTURES = pathlib.Path(sys.argv[1])


def _text(browser, place="body"):
    return browser.find_element(By.CSS_SELECTOR, place).text


def _becomes(browser, condition, seconds=8):
    WebDriverWait(browser, seconds, poll_frequency=0.1).until(lambda _: condition())


def main():
    browser = chromium.start()
    try:
        browser.set_page_load_timeout(10)
        browser.get(_PAGE)
        _becomes(browser, lambda: len(browser.find_elements(By.TAG_NAME, "section")) == 2)
        print("the page shows both workers", flush=True)
        _becomes(browser, lambda: "sts is not ready" in _text(browser))
        print("and what is not reachable", flush=True)

        for _ in range(3):
            try:
                urllib.request.urlopen(_PAGE.replace("/status.html", "/v1/credentials"), timeout=5)
            except urllib.error.HTTPError:
                pass
        _becomes(browser, lambda: "/v1/credentials" in _text(browser, "#workers"))
        print("it follows what happens", flush=True)

        faults = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
        fitting, contrasts, grounds = {}, [], {}
        for name, (width, height, scheme) in chromium.WIDTHS.items():
            chromium.look_like(browser, width, height, scheme)
            inside = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
            fitting[width] = inside[0] <= inside[1]
            grounds[scheme] = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
            contrasts += chromium.contrasts(browser, "h1, h2, p, dt, dd, th, td")
            chromium.take_picture(browser, _PICTURES / f"{name}.png")

        for offline in (True, False):
            chromium.set_network(browser, offline)
            if offline:
                _becomes(browser, lambda: "No response of /status" in _text(browser, "#state"))
                print("it says when nothing responds any more", flush=True)
            else:
                _becomes(browser, lambda: "Last minute" in _text(browser, "#state"))
                print("and goes on when there are responses again", flush=True)

        if faults:
            print(json.dumps(faults), file=sys.stderr)
        else:
            print("nothing was refused by the policy, nor failed")
        for width, fits in fitting.items():
            if fits:
                print(f"{width} pixels wide nothing is cut off")
        if chromium.luminance(grounds["dark"]) < 0.05 and chromium.luminance(grounds["light"]) > 0.9:
            print("it is dark where the system is")
        # WCAG 2.2, 1.4.3.
        if min(contrasts) >= 4.5:
            print("text can be told from its ground in both")
        else:
            print(f"contrasts from {min(contrasts):.2f}", file=sys.stderr)
    finally:
        browser.quit()


main()
