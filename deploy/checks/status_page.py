"""Opens nginx/status.html in headless Chromium and prints a line for each thing that is as it should be.

Called by deploy/checks/status: CLOAKROOM_PAGE is the page's address, the argument a folder for pictures.
"""

import base64
import json
import os
import pathlib
import re
import sys
import urllib.error
import urllib.request

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

_PAGE = os.environ["CLOAKROOM_PAGE"]
_PICTURES = pathlib.Path(sys.argv[1])
_WIDTHS = {"phone-dark": (400, 860, "dark"), "desk-light": (1280, 900, "light")}


def _browser():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--no-proxy-server"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Service("/usr/bin/chromedriver")
    return webdriver.Chrome(options=options, service=service)


def _text(browser, place="body"):
    return browser.find_element(By.CSS_SELECTOR, place).text


def _becomes(browser, condition, seconds=8):
    WebDriverWait(browser, seconds, poll_frequency=0.1).until(lambda _: condition())


def _look_like(browser, width, height, scheme):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                            {"features": [{"name": "prefers-color-scheme", "value": scheme}]})


def _numbers(color):
    return [int(each) for each in re.findall(r"\d+", color)[:3]]


def _luminance(color):
    """WCAG 2.2, relative luminance."""
    channels = [each / 255 for each in _numbers(color)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrasts(browser):
    """Of every text on its ground."""
    pairs = browser.execute_script("""
        const ground = (node) => {
            for (; node; node = node.parentElement) {
                const color = getComputedStyle(node).backgroundColor;
                if (color !== "rgba(0, 0, 0, 0)") return color;
            }
        };
        return [...document.querySelectorAll("h1, h2, p, dt, dd, th, td")].filter((node) => node.textContent)
            .map((node) => [getComputedStyle(node).color, ground(node)]);""")
    for text, ground in {tuple(pair) for pair in pairs}:
        lighter, darker = sorted((_luminance(text), _luminance(ground)), reverse=True)
        yield (lighter + 0.05) / (darker + 0.05)


def main():
    browser = _browser()
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
        for name, (width, height, scheme) in _WIDTHS.items():
            _look_like(browser, width, height, scheme)
            inside = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
            fitting[width] = inside[0] <= inside[1]
            grounds[scheme] = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
            contrasts += _contrasts(browser)
            whole = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
            (_PICTURES / f"{name}.png").write_bytes(base64.b64decode(whole["data"]))

        browser.execute_cdp_cmd("Network.enable", {})
        for offline in (True, False):
            browser.execute_cdp_cmd("Network.emulateNetworkConditions",
                                    {"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
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
        if _luminance(grounds["dark"]) < 0.05 and _luminance(grounds["light"]) > 0.9:
            print("it is dark where the system is")
        # WCAG 2.2, 1.4.3.
        if min(contrasts) >= 4.5:
            print("text can be told from its ground in both")
        else:
            print(f"contrasts from {min(contrasts):.2f}", file=sys.stderr)
    finally:
        browser.quit()


main()
