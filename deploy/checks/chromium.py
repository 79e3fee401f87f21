"""Headless Chromium for the checks of pages, and what they look at in it. With Debian's Python, which has selenium."""

import base64
import re

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

WIDTHS = {"phone-dark": (400, 860, "dark"), "desk-light": (1280, 900, "light")}


def start():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--no-proxy-server"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def look_like(browser, width, height, scheme):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})


def take_picture(browser, path):
    """Of the whole page, as far as it goes."""
    whole = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
    path.write_bytes(base64.b64decode(whole["data"]))


def set_network(browser, offline=False, upload=-1):
    """upload: bytes a second; -1: as many as there can be."""
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.emulateNetworkConditions",
                            {"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": upload})


def luminance(color):
    """WCAG 2.2, relative luminance."""
    channels = [int(each) / 255 for each in re.findall(r"\d+", color)[:3]]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrasts(browser, places):
    """Of every text that is seen on its ground. WCAG 2.2, 1.4.3."""
    pairs = browser.execute_script("""
        const ground = (node) => {
            for (; node; node = node.parentElement) {
                const color = getComputedStyle(node).backgroundColor;
                if (color !== "rgba(0, 0, 0, 0)") return color;
            }
        };
        return [...document.querySelectorAll(arguments[0])].filter((node) => node.textContent.trim() && node.checkVisibility())
            .map((node) => [getComputedStyle(node).color, ground(node)]);""", places)
    for text, ground in {tuple(pair) for pair in pairs}:
        lighter, darker = sorted((luminance(text), luminance(ground)), reverse=True)
        yield (lighter + 0.05) / (darker + 0.05)
