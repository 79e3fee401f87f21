"""Opens deploy/web in headless Chromium and prints a line for each thing that is as it should be; --list prints all of them.

Called by deploy/checks/web: CLOAKROOM_PAGE is the page's address, CLOAKROOM_OTHER_PAGE that of the page on another origin than the
worker, CLOAKROOM_FILER where SeaweedFS has the bucket's objects, CLOAKROOM_FILES the stack's state with the tokens; the argument is
a folder for pictures.
"""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import re
import sys
import time
import traceback
import urllib.parse
import urllib.request

import chromium
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.ui import WebDriverWait

_VECTORS = pathlib.Path("Tests/AWSTests/Vectors")
_LARGE = 40_000_000
_LEEWAY = 30    # seconds, tokens.leewaySeconds
# Chromium's own lines for responses and losses that a check provokes.
_PROVOKED = re.compile(r" - Failed to load resource: (the server responded with a status of (400|401|403|429) |"
                       r"net::ERR_(INTERNET_DISCONNECTED|UPLOAD_FILE_CHANGED|FILE_NOT_FOUND))")
# The same for a file that is shorter for a moment, while another program writes it anew and Chromium reads it.
_CUT_SHORT = re.compile(r" - Failed to load resource: net::ERR_FAILED$")

_SIGN = """
const [cases, done] = arguments;
(async () => {
    const { sign, sha256 } = await import("./cloakroom.mjs");
    const wrong = [];
    for (const each of cases) {
        const [, path, query] = /^([^?]*)[?]?(.*)$/s.exec(each.target);
        const body = Uint8Array.from(atob(each.body_b64), (letter) => letter.charCodeAt(0));
        const payloadHash = each.unsigned_payload ? "UNSIGNED-PAYLOAD" : await sha256(body.buffer);
        const signed = await sign(
            { method: each.method, path, query, fields: each.headers, payloadHash },
            { accessKeyId: each.access_key, secretAccessKey: each.secret_key, sessionToken: each.session_token },
            { region: each.region, service: each.service, expires: each.mode === "query" ? each.expires : undefined,
              time: new Date(each.timestamp.replace(/(....)(..)(..)T(..)(..)(..)Z/, "$1-$2-$3T$4:$5:$6Z")),
              rules: { normalizesPath: each.normalize, encodesPathAgain: each.double_encode,
                       sendsPayloadHash: each.sign_body, leavesSessionTokenUnsigned: each.omit_session_token } });
        const carrier = each.mode === "query" ? signed.query : signed.fields.find(([name]) => name === "authorization")[1];
        if (signed.signature !== each.signature || !carrier.includes("Signature=" + each.signature)
            || signed.canonicalRequest !== (each.canonical_request ?? signed.canonicalRequest)
            || signed.stringToSign !== (each.string_to_sign ?? signed.stringToSign)) wrong.push(each.name);
    }
    done(wrong);
})().catch((error) => done([String(error)]));
"""

# The module with responses that are made up: what of it is not so.
_MODULE = """
const [done] = arguments;
(async () => {
    const { Cloakroom, Uploader, persist } = await import("./cloakroom.mjs");
    const wrong = [], expect = (holds, what) => holds || wrong.push(what), { signal } = new AbortController();
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const vended = { credentials: { accessKeyId: "A", secretAccessKey: "S", expiration: inAnHour }, region: "eu-central-1", bucket: "photos",
                     userId: "u", prefixes: { photos: "photos/u/" } };
    const json = (body, options) => new Response(JSON.stringify(body), options);
    const brokenOff = () => new Response(new ReadableStream({ pull(body) { body.error(new TypeError("it broke off")); } }));
    const token = async () => "token", fails = (promise) => promise.then(() => ({}), (error) => error);

    let replies = [brokenOff(), json({ region: "eu-central-1" }), json(vended)];
    window.fetch = async () => replies.shift();
    let client = new Cloakroom({ api: "", token });
    let error = await fails(client.credentials());
    expect(error.code === "network" && error.retryable, `credentials that break off: ${error}`);
    error = await fails(client.credentials());
    expect(error.code === "no_credentials" && !error.retryable, `none in the response: ${error}`);
    expect((await client.credentials().catch(() => ({}))).userId === "u", "credentials afterwards");
    replies = [brokenOff(), new Response("<html>"), json({ results: [{ key: "a", success: true }] })];
    const renewed = await persist(() => client.renew(["a"]), { signal }).catch(String);
    expect(renewed[0]?.success, `a renewal that breaks off: ${renewed}`);
    replies = [brokenOff()];
    error = await fails((async () => (await client.s3("GET", "key")).blob?.())());
    expect(error.code === "network", `an object that breaks off: ${error}`);

    // Refused are all tokens, or all but the second one.
    for (const [tokens, status, requests] of [[["first", "first"], 401, 2], [["first", "second"], undefined, 2]]) {
        const refused = [], sent = [];
        window.fetch = async (url, { headers }) => {
            sent.push(headers.Authorization);
            // A client without an end fails here, too.
            if (sent.length > 9 || headers.Authorization === "Bearer second") return json({ results: [] });
            return json({ error: "This token has ended", code: "unauthorized" }, { status: 401 });
        };
        const given = new Cloakroom({ api: "", token: async (former) => {
            refused.push(former);
            return tokens[former === undefined ? 0 : 1];
        } });
        error = await fails(given.renew(["a"]));
        expect(error.status === status && sent.length === requests && String(refused) === ",first"
               && (!status || error.code === "unauthorized" && error.message === "This token has ended" && !error.retryable),
               `tokens ${tokens}: ${error}, status ${error.status}, ${sent.length} requests, refused: ${refused}`);
    }

    for (const [options, changes, address] of [
        [{}, {}, "https://photos.s3.eu-central-1.amazonaws.com/key"],
        [{}, { bucket: "my.photos" }, "https://s3.eu-central-1.amazonaws.com/my.photos/key"],
        [{}, { region: "cn-north-1" }, "https://photos.s3.cn-north-1.amazonaws.com.cn/key"],
        [{ pathStyle: true }, {}, "https://s3.eu-central-1.amazonaws.com/photos/key"],
        [{ store: "https://photos.example.com" }, {}, "https://photos.example.com/key"],
        [{ store: "https://photos.example.com", pathStyle: true }, {}, "https://photos.example.com/photos/key"],
        [{ store: "https://my.photos.example.com" }, { bucket: "my.photos" }, "https://my.photos.example.com/key"]]) {
        let sent;
        window.fetch = async (url) => {
            if (url.endsWith("/sts-token")) return json({ ...vended, ...changes });
            sent = url.split("?")[0];
            return new Response("");
        };
        await new Cloakroom({ api: "", token, ...options }).s3("GET", "key");
        expect(sent === address, `${JSON.stringify(options)}: ${sent}`);
    }

    // Each upload meets one of these once.
    const faults = { RequestTimeout: 400, ConditionalRequestConflict: 409, OperationAborted: 409, ExpiredToken: 400 }, met = new Set();
    let requests = 0;
    window.fetch = async (url) => {
        requests += 1;
        const code = new URL(url, location).searchParams.get("contentType");
        return json({ uploadUrl: code, headers: {}, objectKey: "key", assetUrl: "url", expiresAt: inAnHour });
    };
    window.XMLHttpRequest = class {
        upload = {};
        open(method, url) { this.code = url; }
        getResponseHeader() { return null; }
        send() {
            this.status = met.has(this.code) ? 200 : faults[this.code];
            this.responseText = `<Error><Code>${this.code}</Code></Error>`;
            met.add(this.code);
            queueMicrotask(() => this.onloadend());
        }
    };
    client = new Cloakroom({ api: "", token });
    const blob = new Blob(["1234"]);
    const uploads = Object.keys(faults).map((type) => fails(new Uploader(client).send(blob, { type, size: 4 }, { signal })));
    for (const { code } of await Promise.all(uploads)) expect(!code, `an upload ends with ${code}`);
    expect(requests === 5, `URLs were requested ${requests} times`);

    // A limit that one file meets is none for smaller ones.
    const over = new AbortController(), held = [], uploader = new Uploader(client), lengths = [];
    window.fetch = async (url) => {
        const length = Number(new URL(url, location).searchParams.get("contentLength"));
        lengths.push(length);
        if (length === 2000) return json({ error: "Too many", code: "too_many_requests" }, { status: 429, headers: { "Retry-After": "30" } });
        return json({ uploadUrl: "x", headers: {}, objectKey: "key", assetUrl: "url", expiresAt: inAnHour });
    };
    met.add("x");
    const start = (size) => uploader.send(blob, { type: "image/png", size }, { signal: over.signal, held: () => held.push(size) });
    const limited = fails(start(2000));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const small = start(1000), larger = fails(start(3000));
    expect(await Promise.race([small.then(() => true), new Promise((resolve) => setTimeout(resolve, 1000))]), "a smaller file is held");
    over.abort();
    await Promise.all([limited, larger, fails(small)]);
    expect(String(held) === "2000,3000" && String(lengths) === "2000,1000", `held: ${held}; requested: ${lengths}`);

    let hasBegun = false;
    await fails(persist(async () => { hasBegun = true; }, { signal: over.signal }));
    expect(!hasBegun, "work begins after its end");

    // What is handed over may be on its way for longer than a transfer may rest, by its size.
    const puts = [], timers = [], sleep = setTimeout.bind(window), large = { type: "image/png", size: 1_600_000 };
    let time = 0;
    window.setTimeout = (work, wait) => timers.push({ work, end: time + wait });
    window.clearTimeout = (id) => { if (id) timers[id - 1].end = Infinity; };
    const pass = (seconds) => {
        time += seconds * 1000;
        for (const timer of timers.filter(({ end }) => end <= time)) Object.assign(timer, { end: Infinity }).work();
    };
    window.XMLHttpRequest = class {
        upload = {};
        status = 0;
        open() { puts.push(this); }
        getResponseHeader() { return null; }
        send() {}
        abort() {
            this.wasAborted = true;
            this.onloadend();
        }
    };
    const begin = async (signal) => {
        const count = puts.length, end = fails(new Uploader(client).send(new Blob([new Uint8Array(large.size)]), large, { signal }));
        while (puts.length === count) await new Promise((resolve) => sleep(resolve, 5));
        return { put: puts[count], end };
    };
    const handOver = ({ upload }) => {
        upload.onprogress({ loaded: large.size });
        upload.onload?.();
    };
    const buffered = await begin(signal);
    pass(50);
    handOver(buffered.put);
    pass(150);
    expect(!buffered.put.wasAborted, "a PUT that is handed over is broken off after a minute");
    buffered.put.status = 200;
    buffered.put.onloadend();
    error = await Promise.race([buffered.end, new Promise((resolve) => sleep(resolve, 2000))]);
    expect(error && !error.code && puts.length === 1, `a late response: ${error}, of ${puts.length} requests`);
    for (const [handsOver, seconds] of [[true, 161], [false, 61]]) {
        const broken = new AbortController(), { put, end } = await begin(broken.signal);
        if (handsOver) handOver(put);
        pass(seconds);
        expect(put.wasAborted, `a PUT without a response for ${seconds} s goes on`);
        broken.abort();
        await end;
    }
    done(wrong);
})().catch((error) => done([String(error)]));
"""

# Pictures of hills, as JPEG.
_PAINT = """
const [count, done] = arguments;
(async () => {
    const painted = [];
    for (let picture = 0; picture < count; picture++) {
        const canvas = new OffscreenCanvas(1600, 1200), context = canvas.getContext("2d"), hue = (picture * 47 + 200) % 360;
        const sky = context.createLinearGradient(0, 0, 0, 1200);
        sky.addColorStop(0, `hsl(${hue} 60% 72%)`);
        sky.addColorStop(0.6, `hsl(${(hue + 40) % 360} 70% 88%)`);
        context.fillStyle = sky;
        context.fillRect(0, 0, 1600, 1200);
        for (let ridge = 0; ridge < 4; ridge++) {
            context.fillStyle = `hsl(${hue} ${40 - ridge * 4}% ${55 - ridge * 12}%)`;
            context.beginPath();
            context.moveTo(0, 1200);
            for (let x = 0; x <= 1600; x += 20) {
                context.lineTo(x, 640 + ridge * 130 + 70 * Math.sin(x / (160 + 30 * ridge) + picture * 2 + ridge * 1.7) + 30 * Math.sin(x / 61 + ridge));
            }
            context.lineTo(1600, 1200);
            context.fill();
        }
        const reader = new FileReader();
        reader.readAsDataURL(await canvas.convertToBlob({ type: "image/jpeg", quality: 0.9 }));
        painted.push(await new Promise((resolve) => { reader.onload = () => resolve(reader.result.split(",")[1]); }));
    }
    done(painted);
})();
"""

# Credentials that S3 does not take: those of the first response, at a time when the page thinks that they are good.
_STALE = """
const real = fetch;
let spoilt = 0;
window.vended = 0;
window.fetch = async (url, options) => {
    const response = await real(url, options);
    if (!String(url).endsWith("/sts-token") || !response.ok) return response;
    window.vended += 1;
    const said = await response.json();
    if (spoilt++ === 0) said.credentials.sessionToken = said.credentials.sessionToken.slice(0, -8) + "AAAAAAAA";
    return new Response(JSON.stringify(said), { headers: response.headers });
};
"""

# URLs that S3 refuses: the first for a file, and the first ones for parts.
_ENDED = """
const real = fetch, spoilt = new Set();
window.fetch = async (url, options) => {
    const response = await real(url, options), kind = /presigned|parts[?]/.exec(url)?.[0];
    if (!kind || spoilt.has(kind)) return response;
    spoilt.add(kind);
    return new Response((await response.text()).replaceAll(/X-Amz-Signature=..../g, "X-Amz-Signature=0000"), { headers: response.headers });
};
"""

# A gallery that refuses the first entry.
_REFUSED = """
const real = fetch;
let refusals = 1;
window.fetch = async (url, options) => options?.method === "PUT" && refusals-- > 0
    ? new Response("<Error><Code>KeyTooLongError</Code><Message>Your key is too long</Message></Error>", { status: 404 }) : real(url, options);
"""

# A policy without S3, as what is requested from there meets it.
_BLOCKED = """
XMLHttpRequest.prototype.send = function () { queueMicrotask(() => this.onloadend()); };
"""

# Remembers which uploads the page gives up.
_RECORD = """
const real = fetch;
window.givenUp = 0;
window.fetch = async (url, options) => {
    const response = await real(url, options);
    if (options?.method === "DELETE" && /[/]v2[/]uploads[/]/.test(url) && response.ok) window.givenUp += 1;
    return response;
};
"""

# Holds what is requested from a URL with `holds` in it until `goOn` is called, and counts what has then passed; refuses the token of the
# next request with `refuses` in its URL; and has the gallery go on with another page where `goesOn` is set.
_HELD = """
const real = fetch, meets = (url, part) => part && url.includes(part);
window.passed = 0;
window.fetch = async (url, options) => {
    if (meets(url, window.refuses)) {
        window.refuses = undefined;
        return new Response("{}", { status: 401 });
    }
    if (meets(url, window.goesOn && "list-type=")) {
        return new Response("<ListBucketResult><NextContinuationToken>next</NextContinuationToken></ListBucketResult>");
    }
    if (!meets(url, window.holds)) return real(url, options);
    await new Promise((resolve) => { window.goOn = resolve; });
    try {
        return await real(url, options);
    } finally {
        window.passed += 1;
    }
};
"""

# A disk that is full, until `isFull` is false.
_FULL = """
const real = IDBObjectStore.prototype.put;
window.isFull = true;
IDBObjectStore.prototype.put = function (...parts) {
    const request = real.apply(this, parts);
    if (window.isFull) this.transaction.abort();
    return request;
};
"""

# Puts into the browser's storage, or removes from it, what a page has not in its list: a file of another user or of a closed tab.
_STORE = """
const [work, user, size, done] = arguments;
indexedDB.open("cloakroom-uploads").onsuccess = ({ target: { result } }) => {
    const id = [user, "made up", size], transaction = result.transaction(["files", "uploads"], "readwrite");
    for (const name of ["files", "uploads"]) {
        const store = transaction.objectStore(name);
        if (work === "put") store.put(name === "files" ? new Blob(["bytes"]) : { id, size }, id);
        else store.delete(id);
    }
    transaction.oncomplete = () => { result.close(); done(); };
};
"""

# A device whose clock is two hours ahead.
_AHEAD = """
const RealDate = Date, ahead = 7_200_000;
window.Date = class extends RealDate {
    constructor(...parts) { parts.length ? super(...parts) : super(RealDate.now() + ahead); }
    static now() { return RealDate.now() + ahead; }
};
"""

_STORED = """
const done = arguments[0];
(async () => {
    const kept = [localStorage.length, sessionStorage.length, document.cookie];
    for (const { name } of await indexedDB.databases()) {
        const database = await new Promise((resolve) => { indexedDB.open(name).onsuccess = (event) => resolve(event.target.result); });
        for (const store of database.objectStoreNames) {
            kept.push(await new Promise((resolve) => {
                database.transaction(store).objectStore(store).getAll().onsuccess = (event) => resolve(event.target.result);
            }));
        }
        database.close();
    }
    done(JSON.stringify(kept));
})();
"""


class Page:
    """The page in a tab of its own."""

    def __init__(self, browser, pictures, page=None):
        self.browser = browser
        self.pictures = pictures
        self.page = page or os.environ["CLOAKROOM_PAGE"]
        self.files = pathlib.Path(os.environ["CLOAKROOM_FILES"])

    def open(self, script=None):
        self.browser.switch_to.new_window("tab")
        self.tab = self.browser.current_window_handle
        self.network()
        if script:
            self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
        self.browser.get(self.page)
        return self

    def go(self):
        self.browser.switch_to.window(self.tab)

    def close(self):
        self.go()
        self.browser.close()
        self.browser.switch_to.window(self.browser.window_handles[0])

    def network(self, offline=False, upload=-1):
        chromium.set_network(self.browser, offline, upload)

    def find(self, place):
        return self.browser.find_element(By.CSS_SELECTOR, place)

    def text(self, place="body"):
        return self.find(place).text

    def expect_quiet_console(self, *provoked):
        """Since the last call, but for Chromium's lines for what is provoked."""
        entries = [each for each in self.browser.get_log("browser") if each["level"] in ("SEVERE", "WARNING")]
        strange = [each["message"] for each in entries
                   if not any(pattern.search(each["message"]) for pattern in (_PROVOKED, *provoked))]
        assert not strange, strange

    def becomes(self, condition, seconds=20):
        WebDriverWait(self.browser, seconds, poll_frequency=0.05).until(lambda _: condition())

    def says(self, text, place="body", seconds=20):
        self.becomes(lambda: text in self.text(place), seconds)

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def send(self, script, *arguments):
        return self.browser.execute_async_script(script, *arguments)

    def give_token(self, text):
        field = self.find("#token")
        field.clear()
        field.send_keys(text, Keys.ENTER)

    def token(self, user):
        return (self.files / "secrets" / user).read_text().strip()

    def brief_token(self, user, seconds):
        """One that ended, so that it holds for what is left of the worker's leeway."""
        now = int(time.time())
        parts = [{"alg": "HS256", "typ": "JWT"}, {"iss": "https://auth.localhost", "aud": "cloakroom", "sub": user, "deviceId": "browser",
                                                  "iat": now - 600, "exp": now + seconds - _LEEWAY}]
        text = b".".join(base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=") for each in parts)
        seal = hmac.digest((self.files / "secrets" / "token").read_bytes(), text, "sha256")
        return (text + b"." + base64.urlsafe_b64encode(seal).rstrip(b"=")).decode()

    def sign_in(self, user, token=None):
        self.becomes(lambda: self.find("#sign-in").is_displayed())
        self.give_token(token or self.token(user))
        self.becomes(lambda: self.text("#user") == user or "again at" in self.text("#sign-in-fault"))
        if self.text("#user") != user:
            # On a busy machine STS is too slow for the worker at times.
            self.find("#token").send_keys(Keys.ENTER)
            self.becomes(lambda: self.text("#user") == user)
        return self

    def choose(self, *files):
        self.find("#files").send_keys("\n".join(str(each) for each in files))

    def uploaded(self, count, seconds=20):
        self.becomes(lambda: self.text("#count") == f"{count} of {count}", seconds)

    def tiles(self):
        # At once: one may go while they are read one by one.
        return self.run("return [...document.querySelectorAll('.gallery .name')].map((node) => node.innerText)")

    def stored(self):
        """SHA-256 of what S3 has of the newest photo."""
        name = self.run("return document.querySelector('#gallery li').dataset.key").split("/")[-1]
        asset = json.loads(urllib.parse.unquote(name.split(".", 1)[1]))[0]
        with urllib.request.urlopen(f"{os.environ['CLOAKROOM_FILER']}/{asset}", timeout=10) as response:
            return hashlib.sha256(response.read()).hexdigest()

    def picture(self, name, width, height, scheme):
        chromium.look_like(self.browser, width, height, scheme)
        chromium.take_picture(self.browser, self.pictures / f"{name}.png")


def _large(page, name):
    """A file of 40 MB, and its SHA-256."""
    file = page.files / name
    file.write_bytes(os.urandom(_LARGE))
    return file, hashlib.sha256(file.read_bytes()).hexdigest()


def vectors(page):
    cases = [each for name in ("sigv4-suite", "sigv4-suite-query", "s3-documentation", "botocore")
             for each in json.loads((_VECTORS / f"{name}.json").read_text())["cases"]]
    wrong = page.open().send(_SIGN, cases)
    assert len(cases) == 108 and not wrong, wrong
    yield "cloakroom.mjs signs as AWS' suite, S3's documentation and botocore do"


def made_up_responses(page):
    wrong = page.open().send(_MODULE)
    page.close()
    assert not wrong, wrong
    yield "responses that break off, refused tokens, S3's passing errors, limits and addresses of buckets are as the module says"


def everyday(page):
    page.open()
    folders = [page.files / "a", page.files / "b"]
    for folder in folders:
        folder.mkdir()
    pictures = [base64.b64decode(each) for each in page.send(_PAINT, 7)]
    photos = []
    for number, data in enumerate(pictures):
        # The first two have the same name.
        photos.append(folders[number == 0] / f"IMG_{1040 + max(1, number)}.jpg")
        photos[-1].write_bytes(data)
    apple = page.files / "IMG_2001.heic"
    apple.write_bytes(os.urandom(300_000))

    page.becomes(lambda: page.run("return document.activeElement.id") == "token")
    page.give_token("nonsense")
    page.says("This token is not accepted", "#sign-in-fault")
    assert page.run("return document.activeElement.id") == "token"
    page.give_token("\u201cquoted\u201d")
    page.says("This token is not accepted", "#sign-in-fault")
    yield "a token that is none is refused beside its field, also one that no header field takes"
    page.sign_in("u_page").says("None yet")
    yield "a user who signs in sees an empty gallery"
    for name, (width, height, scheme) in chromium.WIDTHS.items():
        page.picture(f"empty-{name}", width, height, scheme)

    page.network(upload=150_000)
    page.choose(*photos, apple)
    page.becomes(lambda: page.run("return document.getElementById('whole').value") > 0.15)
    # What a screen reader says of it changes now and then alone.
    page.run("window.said = 0; new MutationObserver(() => window.said += 1).observe(document.getElementById('said'), {childList: true})")
    page.picture("uploading-desk-light", *chromium.WIDTHS["desk-light"])
    page.picture("uploading-phone-dark", *chromium.WIDTHS["phone-dark"])
    page.network()
    page.uploaded(8)
    page.becomes(lambda: len(page.tiles()) == 8)
    assert page.run("return window.said") <= 3 and page.text("#said") == "8 of 8 uploaded"
    yield "eight files are uploaded, two of one name, and said at the end"
    names = sorted(page.tiles())
    assert names == sorted(each.name for each in [*photos, apple]), names
    page.becomes(lambda: len(page.browser.find_elements(By.CSS_SELECTOR, ".gallery img")) == 7)
    assert "HEIC" in page.text("#gallery")
    yield "each is in the gallery, and HEIC has its name in place of a preview"

    page.find("#renew-all").click()
    page.says("8 of 8 renewed, kept until", "#renewed")
    yield "all are renewed, and it says until when"

    grounds, contrasts = {}, []
    for name, (width, height, scheme) in chromium.WIDTHS.items():
        page.picture(f"gallery-{name}", width, height, scheme)
        inside = page.run("return [document.documentElement.scrollWidth, innerWidth]")
        assert inside[0] <= inside[1], inside
        grounds[scheme] = page.run("return getComputedStyle(document.body).backgroundColor")
        contrasts += chromium.contrasts(page.browser, "h1, h2, p, span, strong, button, label, a")
    yield "nothing is cut off on a phone's width nor on a desk's"
    assert chromium.luminance(grounds["dark"]) < 0.05 and chromium.luminance(grounds["light"]) > 0.9
    # WCAG 2.2, 1.4.3.
    assert min(contrasts) >= 4.5, contrasts
    yield "it is dark where the system is, and text can be told from its ground in both"

    # By the keyboard alone.
    page.run("document.getElementById('sign-out').focus()")
    visited = []
    for _ in range(11):
        ActionChains(page.browser).send_keys(Keys.TAB).perform()
        visited.append(page.run("const node = document.activeElement; return node.id || node.textContent"))
    assert visited[:3] == ["files", "pause-all", "renew-all"] and sum("Until" in each for each in visited) == 8, visited
    unnamed = page.run("return [...document.querySelectorAll('button, a, input, progress, ul')].filter((node) => !node.closest('[hidden]')"
                       " && !node.textContent.trim() && !node.labels?.length && !node.ariaLabel && !node.hasAttribute('aria-labelledby')).length")
    assert unnamed == 0, unnamed
    page.run("document.querySelector('.gallery button').focus()")
    ActionChains(page.browser).send_keys(Keys.ENTER).perform()
    page.becomes(lambda: page.find("#photo").is_displayed())
    page.picture("photo-desk-light", *chromium.WIDTHS["desk-light"])
    page.picture("photo-phone-dark", *chromium.WIDTHS["phone-dark"])
    page.find("#photo-renew").click()
    page.says("1 of 1 renewed", "#photo-said")
    ActionChains(page.browser).send_keys(Keys.ESCAPE).perform()
    page.becomes(lambda: not page.find("#photo").is_displayed())
    assert page.run("return document.activeElement === document.querySelector('.gallery button')")
    yield "the keyboard reaches all of it, and everything has a name"

    page.run("document.querySelector('.gallery button').click()")
    page.find("#photo-remove").click()
    page.becomes(lambda: len(page.tiles()) == 7)
    page.browser.refresh()
    page.sign_in("u_page")
    page.becomes(lambda: len(page.tiles()) == 7)
    yield "what is removed from the gallery stays removed after a reload, and the rest is there"

    page.run("""const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(5000)], "dropped.png", {type: "image/png"}));
        document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));""")
    page.uploaded(1)
    page.becomes(lambda: "dropped.png" in page.tiles())
    yield "a file that is dropped anywhere is uploaded"
    page.run("""const data = new DataTransfer();
        data.items.add(new File(["text"], "notes.txt", {type: "text/plain"}));
        document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));""")
    page.says("notes.txt", "#uploads")
    page.says("Failed: This content type cannot be uploaded", "#uploads")
    page.run("""const data = new DataTransfer();
        data.items.add(new File([], "empty.png", {type: "image/png"}));
        data.items.add(new File([new Uint8Array(67_200_000)], "long.mp4", {type: "video/mp4"}));
        document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));""")
    page.says("Failed: This file is empty", "#uploads")
    page.says("Failed: This file is larger than 67.1 MB", "#uploads")
    assert "Try again" not in page.text("#uploads"), page.text("#uploads")
    yield "what the worker refuses says why, as an empty file does, and none of them is tried again"

    page.find("#sign-out").click()
    page.becomes(lambda: page.find("#sign-in").is_displayed())
    assert not page.tiles() and page.text("#user") == ""
    # Not even of what was refused while it was being stored.
    assert page.send(_STORED) == '[0,0,"",[],[]]', page.send(_STORED)
    page.close()


def network_lost(page):
    page.open().sign_in("u_large")
    large, digest = _large(page, "walk.mp4")
    page.network(upload=8_000_000)
    page.choose(large)
    page.becomes(lambda: page.run("return document.getElementById('whole').value") > 0.3, 20)
    page.network(offline=True)
    page.says("No connection; next attempt at", "#uploads")
    yield "without a network it says so, and when it tries again"
    time.sleep(2)
    page.network()
    page.run("dispatchEvent(new Event('online'))")
    page.uploaded(1, 40)
    page.becomes(lambda: page.tiles() == ["walk.mp4"])
    assert page.stored() == digest
    yield "40 MB are whole in S3, although the network was lost in the middle"
    page.close()


def reload(page):
    page.open().sign_in("u_large")
    large, digest = _large(page, "river.mp4")
    page.network(upload=6_000_000)
    page.choose(large)
    page.becomes(lambda: page.run("return document.getElementById('whole').value") > 0.75, 20)
    page.find("#uploads li button").click()
    page.says("Paused", "#uploads")
    before = page.run("return document.getElementById('whole').value")
    time.sleep(1)
    assert page.run("return document.getElementById('whole').value") == before
    assert page.token("u_large").split(".")[2] not in page.send(_STORED)
    yield "a pause holds, and no token is in what the browser keeps"
    page.browser.refresh()
    page.network()
    page.sign_in("u_large").says("Paused", "#uploads")
    assert abs(page.run("return document.getElementById('whole').value") - before) < 0.01
    page.find("#uploads li button").click()
    page.uploaded(1, 30)
    page.becomes(lambda: page.tiles()[:1] == ["river.mp4"])
    assert page.stored() == digest
    sent = page.run("return performance.getEntriesByType('resource').filter((each) => each.name.includes('partNumber=')).length")
    assert 0 < sent < 5, sent
    yield "after a reload it goes on, and what S3 had is not sent again"
    page.becomes(lambda: page.send(_STORED) == '[0,0,"",[],[]]')
    yield "nothing is kept of what is uploaded"
    page.close()


def changed_files(page):
    page.expect_quiet_console()
    page.open(_RECORD).sign_in("u_large")
    before = page.tiles()
    whole, parts, gone = (page.files / name for name in ("whole.mp4", "parts.mp4", "gone.mp4"))
    whole.write_bytes(b"A" * 6_000_000)
    parts.write_bytes(b"A" * 20_000_000)
    gone.write_bytes(b"A" * 1_000_000)
    page.network(upload=2_000_000)
    page.choose(whole)
    page.becomes(lambda: page.run("return document.getElementById('whole').value") > 0.2)
    whole.write_bytes(b"B" * 6_000_000)
    page.says("Failed: the file has changed or is gone", "#uploads")
    page.find("#pause-all").click()
    page.network(upload=4_000_000)
    page.choose(parts)
    page.becomes(lambda: page.run("return document.getElementById('whole').value") > 0.2
                 and page.send(_STORED).startswith('[0,0,"",[{}],'))
    parts.write_bytes(b"B" * 20_000_000)
    page.says("Failed: the file has changed or is gone", "#uploads")
    page.becomes(lambda: page.run("return window.givenUp") == 1)
    assert "Try again" not in page.text("#uploads"), page.text("#uploads")
    page.expect_quiet_console(_CUT_SHORT)
    yield "a file that changes while it is sent fails, whole and in parts, and S3 keeps no parts of it"
    page.browser.refresh()
    page.sign_in("u_large")
    page.becomes(lambda: page.tiles() == before)
    # The former bytes, which the browser had, would be on their way by then.
    time.sleep(1)
    assert page.run("return performance.getEntriesByType('resource').filter((each) => each.name.endsWith('/v2/uploads')).length") == 0
    assert page.text("#uploads") == "" and page.send(_STORED) == '[0,0,"",[],[]]'
    yield "nor is it sent after a reload as it was before"
    page.network(upload=100_000)
    page.choose(gone)
    page.says("of 1.0 MB", "#uploads")
    page.find("#uploads li button").click()
    page.says("Paused", "#uploads")
    gone.unlink()
    page.find("#uploads li button").click()
    page.says("Failed: the file has changed or is gone", "#uploads", 5)
    assert page.tiles() == before
    page.becomes(lambda: page.send(_STORED) == '[0,0,"",[],[]]')
    yield "a file that is removed before it is sent fails, too"
    page.close()


def refused_entry(page):
    page.open(_REFUSED).sign_in("u_stale")
    photo = page.files / "entry.png"
    photo.write_bytes(os.urandom(2000))
    page.choose(photo)
    page.says("Uploaded, not in the gallery: Your key is too long", "#uploads")
    page.find("#pause-all").click()
    time.sleep(0.5)
    assert "entry.png" in page.text("#uploads") and page.text("#pause-all") == "Clear list"
    page.find("#uploads li button").click()
    page.becomes(lambda: "entry.png" in page.tiles() and not page.text("#uploads"))
    yield "what the gallery refused stays in the list, and is put there by another attempt"
    page.close()


def blocked(page):
    page.open(_BLOCKED).sign_in("u_stale")
    photo = page.files / "blocked.png"
    photo.write_bytes(os.urandom(2000))
    page.choose(photo)

    def hints():
        page.run("dispatchEvent(new Event('online'))")
        return "Do the bucket's CORS rule and the page's policy allow it?" in page.text("#uploads")

    page.says("No connection; next attempt at", "#uploads")
    assert not hints()
    page.becomes(hints)
    page.find("#uploads li:first-child .does button:last-child").click()
    yield "where S3 is never reached, it names the bucket's rule and the page's policy"
    page.close()


def forgotten_file(page):
    page.open().sign_in("u_large")
    # Files of all users count in the room that there is.
    page.send(_STORE, "put", "u_other", 480_000_000)
    large, digest = _large(page, "clouds.mp4")
    page.network(upload=6_000_000)
    page.choose(large)
    page.becomes(lambda: page.run("return document.getElementById('whole').value") > 0.3, 20)
    page.find("#uploads li button").click()
    page.says("Paused", "#uploads")
    page.browser.refresh()
    page.network()
    page.send(_STORE, "delete", "u_other", 480_000_000)
    page.sign_in("u_large").says("Choose this file again to go on", "#uploads")
    page.choose(large)
    page.uploaded(1, 30)
    page.becomes(lambda: page.tiles()[:1] == ["clouds.mp4"])
    assert page.stored() == digest
    yield "where the browser had no room for the file, it goes on once that is chosen again"
    page.close()


def full_disk(page):
    def warns():
        return page.run("const event = new Event('beforeunload', {cancelable: true}); return !dispatchEvent(event)")

    page.open(_FULL).sign_in("u_large")
    large, digest = _large(page, "full.mp4")
    page.network(upload=3_000_000)
    page.choose(large)
    page.becomes(lambda: page.run("return performance.getEntriesByType('resource').some((each) => each.name.includes('partNumber='))"))
    # What is kept after each part is tried by then.
    time.sleep(0.5)
    assert warns()
    yield "where nothing can be kept, the browser warns before it closes the page"
    page.run("window.isFull = false")
    page.becomes(lambda: not warns())
    assert "full.mp4" in page.send(_STORED)
    page.run("window.isFull = true")
    page.becomes(warns)
    page.network()
    page.uploaded(1, 30)
    page.becomes(lambda: page.tiles()[:1] == ["full.mp4"])
    assert page.stored() == digest
    page.becomes(lambda: page.send(_STORED) == '[0,0,"",[],[]]')
    yield "it does not once there is room, does again when that ends, and the upload goes on all the while"
    page.close()


def two_tabs(page):
    page.open().sign_in("u_large")
    large, digest = _large(page, "night.mp4")
    other = Page(page.browser, page.pictures).open().sign_in("u_large")
    page.go()
    page.network(upload=3_000_000)
    page.choose(large)
    page.becomes(lambda: page.run("return document.getElementById('whole').value") > 0.2, 20)
    other.go()
    other.says("In another tab", "#uploads")
    later = Page(page.browser, page.pictures).open().sign_in("u_large")
    later.says("In another tab", "#uploads")
    later.close()
    yield "what one tab sends, those show and leave alone that were open before, or are opened later"
    page.go()
    small = page.files / "small.png"
    small.write_bytes(os.urandom(1000))
    page.choose(small)
    other.go()
    other.becomes(lambda: "small.png" in other.tiles(), 20)
    yield "what one tab has uploaded is in the other's gallery"
    page.close()
    other.go()
    other.uploaded(1, 30)
    other.becomes(lambda: other.tiles()[:1] == ["night.mp4"])
    assert other.stored() == digest
    yield "when a tab is closed, another one goes on"
    third = Page(page.browser, page.pictures).open(_RECORD).sign_in("u_large")
    third.becomes(lambda: "night.mp4" in third.tiles())
    third.network(upload=500_000)
    third.choose(large)
    third.says("of 40.0 MB", "#uploads")
    # What a tab has left that was closed.
    third.send(_STORE, "put", "u_large", 5)
    third.run("document.querySelector('.gallery button').click()")
    third.find("#photo form .main").click()
    third.find("#sign-out").click()
    WebDriverWait(third.browser, 5).until(expected_conditions.alert_is_present())
    third.browser.switch_to.alert.accept()
    third.becomes(lambda: third.find("#sign-in").is_displayed())
    third.becomes(lambda: third.send(_STORED) == '[0,0,"",[],[]]')
    third.becomes(lambda: third.run("return window.givenUp") == 1)
    left = third.run("return document.documentElement.outerHTML")
    assert "night.mp4" not in left and "/assets/" not in left, left
    third.close()
    other.go()
    other.becomes(lambda: other.find("#sign-in").is_displayed() and not other.tiles())
    yield "signing out asks about unfinished uploads, removes them here and at S3, and holds for all tabs"
    other.close()


def limits(page):
    page.open().sign_in("u_few")
    photos = []
    for number in range(5):
        photos.append(page.files / f"few{number}.png")
        photos[-1].write_bytes(os.urandom(2000))
    page.choose(*photos)
    page.says("Too many", "#uploads")
    assert re.search(r"next attempt at \d\d:\d\d:\d\d", page.text("#uploads"))
    yield "at a limit it says when it goes on"
    page.uploaded(5, 20)
    yield "and goes on by itself"
    page.close()


def ended_token(page):
    page.open().sign_in("u_ending", page.brief_token("u_ending", 5))
    photo = page.files / "late.png"
    photo.write_bytes(os.urandom(2000))
    time.sleep(6)
    page.choose(photo)
    page.says("Your token has ended", "#sign-in")
    for _ in range(3):
        ActionChains(page.browser).send_keys(Keys.ESCAPE).perform()
    page.give_token(page.token("u_few"))
    page.says("another user's", "#sign-in-fault")
    page.picture("ended-desk-light", *chromium.WIDTHS["desk-light"])
    page.give_token(page.token("u_ending"))
    page.uploaded(1)
    assert not page.find("#sign-in").is_displayed()
    yield "a token that ends is asked for again, of the same user, and uploads go on"
    page.close()


def signed_out(page):
    page.open(_HELD).sign_in("u_leaving").says("None yet")
    photos = [page.files / f"leaving{number}.png" for number in range(2)]
    for each in photos:
        each.write_bytes(os.urandom(2000))
    page.choose(*photos)
    page.becomes(lambda: len(page.tiles()) == 2)

    def hold(part, begin):
        page.run("Object.assign(window, {holds: arguments[0], goOn: undefined, passed: 0})", part)
        begin()
        page.becomes(lambda: page.run("return Boolean(window.goOn)"))

    def go_on():
        page.run("window.holds = undefined; window.goOn()")
        page.becomes(lambda: page.run("return window.passed") == 1)
        # What there is to be seen of it is seen by then.
        time.sleep(0.5)

    def end_token():
        page.run("window.refuses = 'renew-batch'")
        page.find("#renew-all").click()
        page.says("Your token has ended", "#sign-in-title")

    def typed():
        return page.run("return document.getElementById('token').value")

    page.run("document.querySelectorAll('.gallery button')[0].click()")
    hold("renew-batch", page.find("#photo-renew").click)
    page.find("#photo form .main").click()
    page.run("document.querySelectorAll('.gallery button')[1].click()")
    go_on()
    assert page.text("#photo-said") == "", page.text("#photo-said")
    page.find("#photo form .main").click()
    yield "a renewal that ends late says nothing of another photo"

    end_token()
    page.give_token("nonsense")
    page.says("This token is not accepted", "#sign-in-fault")
    page.find("#token").clear()
    page.find("#token").send_keys(page.token("u_leaving"))
    page.find("#sign-in-out").click()
    page.says("Sign in", "#sign-in-title")
    assert typed() == "" and page.text("#sign-in-fault") == "", (len(typed()), page.text("#sign-in-fault"))
    page.find("#token").send_keys("token")
    page.run("dispatchEvent(new Event('pagehide'))")
    assert typed() == ""
    yield "a token that was typed is not in its field after a sign-out, nor when the page is left"

    page.sign_in("u_leaving")
    other = Page(page.browser, page.pictures).open().sign_in("u_leaving")
    page.go()
    page.becomes(lambda: len(page.tiles()) == 2)
    end_token()
    hold("/sts-token", lambda: page.give_token(page.token("u_leaving")))
    other.go()
    other.find("#sign-out").click()
    other.becomes(lambda: other.find("#sign-in").is_displayed())
    other.close()
    page.go()
    page.says("Sign in", "#sign-in-title")
    assert page.find("#sign-in-button").is_enabled()
    go_on()
    assert page.text("#user") == "" and page.find("#sign-in").is_displayed() and page.text("#sign-in-fault") == "", page.text()
    other = Page(page.browser, page.pictures).open().sign_in("u_leaving")
    page.go()
    hold("/sts-token", lambda: page.give_token(page.token("u_leaving")))
    other.go()
    other.find("#sign-out").click()
    other.becomes(lambda: other.find("#sign-in").is_displayed())
    other.sign_in("u_next").find("#sign-out").click()
    other.becomes(lambda: other.find("#sign-in").is_displayed())
    other.close()
    page.go()
    go_on()
    assert page.text("#user") == "" and page.text("#sign-in-fault") == "Signed out", page.text()
    yield "a sign-in that is under way ends with the user's sign-out in another tab, and another one can begin"

    page.run("window.goesOn = true")
    page.sign_in("u_leaving")
    page.becomes(lambda: page.find("#more").is_displayed())
    page.find("#sign-out").click()
    page.becomes(lambda: page.find("#sign-in").is_displayed())
    page.run("window.goesOn = false")
    hold("list-type=", lambda: page.sign_in("u_next"))
    assert not page.find("#more").is_displayed()
    go_on()
    page.says("None yet")
    assert not page.find("#queue").is_displayed(), page.text("#queue")
    page.find("#sign-out").click()
    page.sign_in("u_leaving")
    page.becomes(lambda: len(page.tiles()) == 2)
    hold("renew-batch", page.find("#renew-all").click)
    page.find("#sign-out").click()
    page.sign_in("u_next").says("None yet")
    go_on()
    assert page.text("#renewed") == "", page.text("#renewed")
    yield "the next user sees neither the former one's counts nor what ends late of theirs"
    page.close()


def stale_credentials(page):
    page.open(_STALE).sign_in("u_stale").says("None yet")
    assert page.run("return window.vended") == 2, page.run("return window.vended")
    yield "credentials that S3 does not take any more are replaced"
    page.close()


def ended_urls(page):
    page.open(_ENDED).sign_in("u_stale")
    photo = page.files / "again.png"
    photo.write_bytes(os.urandom(2000))
    large, digest = _large(page, "again.mp4")
    page.choose(photo, large)
    page.uploaded(2, 40)
    page.becomes(lambda: sorted(page.tiles()) == ["again.mp4", "again.png"])
    yield "URLs that S3 does not take any more are replaced, of files and of parts"
    page.close()


def skewed_clock(page):
    page.open(_AHEAD).sign_in("u_skewed").says("None yet")
    photo = page.files / "ahead.png"
    photo.write_bytes(os.urandom(2000))
    page.choose(photo)
    page.becomes(lambda: page.tiles() == ["ahead.png"])
    yield "a clock two hours ahead does not matter"
    page.close()


def apart(page):
    page.open(_AHEAD).sign_in("u_apart")
    photo = page.files / "apart.png"
    photo.write_bytes(os.urandom(2000))
    large, digest = _large(page, "apart.mp4")
    page.choose(photo, large)
    page.uploaded(2, 30)
    page.becomes(lambda: sorted(page.tiles()) == ["apart.mp4", "apart.png"])
    page.find("#renew-all").click()
    page.says("2 of 2 renewed", "#renewed")
    yield "from another origin all of it works, too, with a clock that is ahead"
    page.close()


def console(page):
    page.expect_quiet_console()
    yield "the console has nothing but Chromium's lines for failures that were provoked"


_SCENARIOS = [vectors, made_up_responses, everyday, network_lost, reload, changed_files, forgotten_file, full_disk, two_tabs, limits, ended_token,
              signed_out, stale_credentials, ended_urls, refused_entry, blocked, skewed_clock, apart, console]


def names():
    """What the scenarios print, in order, from their own text."""
    return re.findall(r'^ +yield "(.*)"$', pathlib.Path(__file__).read_text(), re.MULTILINE)


def main():
    if sys.argv[1] == "--list":
        print("\n".join(names()))
        return
    with contextlib.ExitStack() as stack:
        browser = chromium.start()
        stack.callback(browser.quit)
        browser.set_page_load_timeout(20)
        browser.set_script_timeout(30)
        wanted = sys.argv[2:]
        for scenario in _SCENARIOS:
            if wanted and scenario.__name__ not in wanted:
                continue
            page = Page(browser, pathlib.Path(sys.argv[1]), os.environ["CLOAKROOM_OTHER_PAGE"] if scenario is apart else None)
            try:
                for line in scenario(page):
                    print(line, flush=True)
            except Exception:   # the others are to be seen, too
                print(f"-- {scenario.__name__}", file=sys.stderr)
                traceback.print_exc()
                for each in browser.get_log("browser"):
                    print(each["message"], file=sys.stderr)
                with contextlib.suppress(Exception):
                    print(page.text(), file=sys.stderr)
                    page.picture(f"failed-{scenario.__name__}", *chromium.WIDTHS["desk-light"])


main()
