// The page: its queue, what stays of it in the browser, and what is seen.
import { Cloakroom, CloakroomError, LARGEST_WHOLE, Uploader, bytesOfParts, persist } from "./cloakroom.mjs";

// -- The queue.

/** Bytes of files in the browser's storage; those beyond are chosen again after a reload. */
const ROOM = 500e6;
/** At once: while six are sent, two are prepared. */
const FILES = 8;

let database;
/** What stays of unfinished uploads when the page is closed: their progress and, where there is room, their files. */
async function storage(work) {
  database ??= new Promise((resolve, reject) => {
    // Of the first version.
    indexedDB.deleteDatabase("cloakroom");
    const request = indexedDB.open("cloakroom-uploads");
    request.onupgradeneeded = () => ["uploads", "files"].forEach((name) => request.result.createObjectStore(name));
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const transaction = (await database).transaction(["uploads", "files"], "readwrite");
  const request = work(transaction.objectStore("uploads"), transaction.objectStore("files"));
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(request.result);
    transaction.onabort = () => reject(transaction.error);
  });
}
const wipe = (ids) => storage((uploads, files) => (files.delete(ids), uploads.delete(ids))).catch(() => {});

/** It is waiting, sending, held (by a limit or the network), paused, missing (its file is chosen again), elsewhere (in another tab),
 *  sent, unlisted (sent, and refused by the gallery) or failed. `kept` goes into the storage, and is the uploader's progress, too; its
 *  `id` is the user, what is unique, and the size. */
class Upload {
  state = "waiting";
  note = "";
  bytes = 0;
  holds = 0;
  /** Its lock is this tab's, or will be. */
  isOwned = false;
  isKept = false;
  /** It is in the gallery, and all is done. */
  isShown = false;
  /** Another attempt would fail as well. */
  isRefused = false;
  abort = new AbortController();
  /** Lets another tab have it. */
  release = () => {};

  constructor(kept, file) { Object.assign(this, { kept, file }); }

  is(...states) { return states.includes(this.state); }

  get isOver() { return this.isShown || this.is("failed"); }

  get isGoing() { return this.is("waiting", "sending", "held"); }
}

class Queue {
  list = [];
  #running = 0;
  end = new AbortController();

  constructor(client, user) {
    // Arrays sort after strings.
    Object.assign(this, { user, uploader: new Uploader(client), mine: IDBKeyRange.bound([user], [user, []]) });
  }

  /** What an earlier visit left. */
  async restore() {
    (await storage((uploads) => uploads.getAll(this.mine)).catch(() => [])).forEach((each) => this.adopt(each));
  }

  /** What another tab has, once that is closed. */
  adopt(kept) {
    if (this.list.some((each) => `${each.kept.id}` === `${kept.id}`)) return;
    const upload = new Upload(kept);
    upload.isKept = upload.isOwned = true;
    this.list.push(upload);
    this.change(upload, "elsewhere");
    this.#own(upload, async () => {
      const [now, file] = await Promise.all([storage((uploads) => uploads.get(kept.id)), storage((_, files) => files.get(kept.id))]);
      // The other tab has completed it.
      if (!now) return this.remove(upload);
      Object.assign(upload, { kept: now, file, bytes: bytesOfParts(now) });
      this.change(upload, now.isSent ? "sent" : !file ? "missing" : now.paused ? "paused" : "waiting");
    });
  }

  add(files) {
    for (const file of files) {
      const { name, size, lastModified: modified } = file;
      let upload = this.list.find(({ state, kept }) => state === "missing"
        && kept.name === name && kept.size === size && kept.modified === modified);
      if (upload) upload.file = file;
      else {
        upload = new Upload({ id: [this.user, crypto.randomUUID(), size], name, size, modified, type: typeOf(file) }, file);
        this.list.push(upload);
        // What is over soon needs not be kept.
        setTimeout(() => this.#keep(upload), size > LARGEST_WHOLE ? 0 : 10_000);
      }
      upload.isRefused = !size;
      this.change(upload, ...size ? ["waiting"] : ["failed", "This file is empty"]);
    }
  }

  pause(upload) {
    if (!upload.isGoing) return;
    upload.kept.paused = true;
    upload.abort.abort();
    upload.bytes = bytesOfParts(upload.kept);
    this.change(upload, "paused");
    this.#keep(upload);
  }

  resume(upload) {
    if (!upload.is("paused", "failed", "unlisted")) return;
    upload.kept.paused = false;
    if (upload.isOwned) this.#keep(upload);
    this.change(upload, upload.kept.isSent ? "sent" : "waiting");
  }

  remove(upload) {
    this.list = this.list.filter((each) => each !== upload);
    this.#giveUp(upload);
    this.forget(upload);
    changed(upload);
  }

  /** Ends all; nothing stays in the browser. What it sends has the token that there is when it is called. */
  async close() {
    this.end.abort();
    const all = this.list.splice(0);
    all.forEach((each) => this.#giveUp(each));
    await wipe(this.mine);
    all.forEach((each) => each.release());
  }

  #giveUp(upload) {
    upload.abort.abort();
    if (!upload.is("elsewhere")) this.uploader.giveUp(upload.kept);
  }

  async forget(upload) {
    if (upload.isOwned) await wipe(upload.kept.id);
    upload.release();
  }

  change(upload, state, note = "") {
    Object.assign(upload, { state, note });
    changed(upload);
    if (state === "waiting") queueMicrotask(() => this.#start());
    if (state === "sent") uploaded.push(upload);
  }

  /** Two tabs never send the same upload. */
  #own(upload, work) {
    return new Promise((resolve) => {
      navigator.locks.request("cloakroom-" + upload.kept.id, { signal: this.end.signal }, async () => {
        const released = new Promise((release) => { upload.release = release; });
        await work().catch(() => {});
        resolve();
        await released;
      }).catch(resolve);
    });
  }

  async #keep(upload) {
    const { kept, file } = upload, { id, size } = kept;
    const put = async () => { upload.isKept = await storage((uploads) => uploads.put(kept, id)).then(() => true, () => false); };
    const isOver = () => upload.isRefused || upload.isShown || !this.list.includes(upload);
    if (isOver()) return;
    if (upload.isOwned) return put();
    upload.isOwned = true;
    await this.#own(upload, async () => {
      if (isOver()) return;
      await put();
      tabs.postMessage({ user: this.user, kept });
      if (!upload.isKept || !file || kept.isSent || isOver()) return;
      await storage((_, files) => {
        const ids = files.getAllKeys();
        ids.onsuccess = () => ids.result.reduce((sum, [, , each]) => sum + each, size) > ROOM || files.put(file, id);
        return ids;
      });
    });
    if (isOver()) this.forget(upload);
  }

  #start() {
    for (const upload of this.list.filter((each) => each.is("waiting"))) {
      if (this.#running >= FILES) return;
      this.#running += 1;
      this.#run(upload, upload.file).finally(() => {
        this.#running -= 1;
        this.#start();
      });
    }
  }

  async #run(upload, file) {
    const { signal } = upload.abort = new AbortController(), { kept } = upload;
    this.change(upload, "sending");
    try {
      await this.uploader.send(file, kept, {
        signal,
        progress: (bytes) => {
          if (signal.aborted) return;
          upload.bytes = Math.min(bytes, kept.size);
          if (upload.is("sending")) upload.holds = 0;
          changed(upload);
        },
        held: (why, until) => {
          upload.holds += 1;
          this.change(upload, "held", later(why, until)
            + (upload.holds > 5 && navigator.onLine ? ". Do the bucket's CORS rule and the page's policy allow it?" : ""));
        },
        resumed: () => this.change(upload, "sending"),
        keep: () => this.#keep(upload),
      });
      upload.bytes = kept.size;
      kept.isSent = true;
      if (upload.isOwned) this.#keep(upload);
      this.change(upload, "sent");
    } catch (error) {
      if (signal.aborted) return;
      const isOfFile = !(error instanceof CloakroomError), most = /^contentLength .* to (\d+)$/.exec(error.message)?.[1];
      upload.isRefused = isOfFile || [400, 413].includes(error.status) && !error.code.startsWith("s3_");
      if (upload.isRefused) this.forget(upload);
      this.change(upload, "failed", isOfFile ? "the file has changed or is gone: remove it, and choose it again"
        : most ? `This file is larger than ${size(most)}` : error.message);
    }
  }
}

/** Some browsers do not know HEIC, some call it HEIF. */
const typeOf = (file) => /\.hei[cf]$/i.test(file.name) ? "image/heic" : file.type || "application/octet-stream";

// -- What is seen: all as text, never as markup.

const place = (id) => document.getElementById(id);
const tell = (id, text) => { place(id).textContent = text; };
const make = (tag, kind = "", text = "") => Object.assign(document.createElement(tag), { className: kind, textContent: text });
const button = (onclick, text = "", ariaLabel = null) => Object.assign(make("button", "", text), { onclick, ariaLabel });
const picture = (node, src, alt = "") => node.replaceChildren(Object.assign(make("img"), { src, alt }));
const size = (bytes) => bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
const clock = (time) => new Date(time).toLocaleTimeString("en", { timeStyle: "medium", hourCycle: "h23" });
const later = (why, until) => `${why}; next attempt at ${clock(until)}`;
/** Until the sign-out; `said` says why it waits. */
const hooks = (said) => ({ signal: queue.end.signal, held: (why, until) => { said.textContent = later(why, until); } });
const day = (date) => new Date(date).toLocaleDateString("en", { dateStyle: "medium" });
const why = (error) => error.retryAfter ? `${error.message}; again at ${clock(Date.now() + error.retryAfter * 1000)}` : error.message;

let settings = {};
let token = "", user = "";
let client, queue;
const tabs = new BroadcastChannel("cloakroom");
/** Users, in other tabs. */
const signedOut = [];

// -- Signing in and out.

const refusal = (message) => new CloakroomError(401, "unauthorized", message);

/** Signs in, or goes on with a new token of the user's. */
async function take(text) {
  const value = text.trim().replace(/^Bearer\s+/i, ""), before = client, count = signedOut.length;
  let wasTaken = false;
  const mine = new Cloakroom({ ...settings, api: settings.api || location.origin, token: async (refused) => {
    if (!wasTaken) {
      // A header field takes no other characters.
      if (refused || !/^[!-~]+$/.test(value)) throw refusal("This token is not accepted");
      return value;
    }
    const given = token === refused ? await askAgain() : token;
    if (client !== mine) throw refusal("Signed out");
    return given;
  } });
  const { userId } = await mine.credentials();
  // Here or in another tab, meanwhile.
  if (client !== before || signedOut.includes(userId, count)) throw refusal("Signed out");
  if (user && userId !== user) throw refusal("This token is another user's: sign out first");
  token = value;
  endSignIn();
  if (user) return;
  client = mine;
  wasTaken = true;
  user = userId;
  queue = new Queue(client, user);
  showUser();
  place("upload-title").focus();
  await queue.restore();
  if (client === mine) await loadPhotos();
}

let asked;
function askAgain() {
  if (!asked) askForToken("Your token has ended", "Uploads wait for a new one, then go on.");
  return (asked ??= Promise.withResolvers()).promise;
}

/** What was typed is not for the next user. */
function endSignIn() {
  asked?.resolve(token);
  asked = undefined;
  place("sign-in").close();
  place("token").value = "";
  tell("sign-in-fault", "");
  place("sign-in-button").disabled = false;
}

function askForToken(title, help) {
  tell("sign-in-title", title);
  tell("sign-in-help", help);
  place("sign-in-out").hidden = !user;
  place("sign-in")[user ? "showModal" : "show"]();
  place("token").focus();
}
const askFirst = () => askForToken("Sign in", "Your app has a token for you. It stays in memory: after a reload you sign in again.");

place("sign-in-form").onsubmit = async (event) => {
  event.preventDefault();
  const field = place("token"), sender = place("sign-in-button"), before = client;
  sender.disabled = true;
  tell("sign-in-fault", "");
  try {
    await take(field.value);
  } catch (error) {
    if (client !== before) return;
    sender.disabled = false;
    tell("sign-in-fault", why(error));
    field.focus();
  }
};

function showUser() {
  place("signed-in").hidden = place("sign-out").hidden = !user;
  tell("user", user);
}

async function signOut() {
  const closed = queue.close();
  token = user = "";
  client = queue = next = undefined;
  place("more").hidden = true;
  endSignIn();
  place("photo").close();
  for (const { url } of tiles.values()) URL.revokeObjectURL(url);
  tiles.clear();
  for (const id of ["gallery", "uploads", "said", "renewed"]) tell(id, "");
  drawWhole();
  showUser();
  // Behind what is being stored.
  await closed;
  askFirst();
}

function leave() {
  if (queue.list.some((each) => !each.isOver)
    && !confirm("Signing out gives up unfinished uploads, and removes what this browser has of them.")) return;
  tabs.postMessage({ signedOut: user });
  signOut();
}

// -- Uploads.

const fresh = new Set();
const words = { waiting: "Waiting", paused: "Paused", missing: "Choose this file again to go on", elsewhere: "In another tab", sent: "Uploaded",
  unlisted: "Uploaded, not in the gallery", failed: "Failed" };

/** What comes into the gallery once nothing is sent any more, or after five seconds. */
const uploaded = [];
let previews = Promise.resolve();
function showUploaded() {
  for (const upload of uploaded.splice(0)) previews = previews.then(() => queue?.list.includes(upload) && addToGallery(upload));
}
setInterval(showUploaded, 5000);

function changed(upload) {
  if (!fresh.size) setTimeout(draw, 250);
  fresh.add(upload);
}

function newRow(upload) {
  const { name, size } = upload.kept, row = make("li"), does = make("span", "does");
  does.append(button(() => upload.isGoing ? queue.pause(upload) : queue.resume(upload)),
    button(() => queue.remove(upload), "Remove", "Remove " + name));
  row.append(make("span", "name", name), make("span", "state"), does, Object.assign(make("progress"), { max: size || 1, ariaLabel: name }));
  place("uploads").append(row);
  return row;
}

function draw() {
  for (const upload of fresh) {
    const { state, note, bytes, kept } = upload;
    if (upload.isShown || !queue?.list.includes(upload)) {
      if (upload.row?.contains(document.activeElement)) place("files").focus();
      upload.row?.remove();
      continue;
    }
    const row = upload.row ??= newRow(upload), [first, second] = row.querySelectorAll("button"), bar = row.querySelector("progress");
    row.className = state;
    row.querySelector(".state").textContent = [words[state], upload.is("sending") && `${size(bytes)} of ${size(kept.size)}`, note]
      .filter(Boolean).join(": ");
    bar.value = bytes;
    bar.hidden = upload.is("sent", "unlisted", "failed");
    first.textContent = upload.isGoing ? "Pause" : upload.is("paused") ? "Resume" : "Try again";
    first.ariaLabel = `${first.textContent} ${kept.name}`;
    first.hidden = upload.isRefused || upload.is("sent", "missing", "elsewhere");
    second.hidden = upload.is("elsewhere");
  }
  fresh.clear();
  drawWhole();
}

let toldAt = 0;
function drawWhole() {
  const all = queue?.list ?? [], count = (...states) => all.filter((each) => each.is(...states)).length;
  const done = count("sent", "unlisted"), failed = count("failed"), going = all.some((each) => each.isGoing);
  const total = all.reduce((sum, each) => sum + each.kept.size, 0), bytes = all.reduce((sum, each) => sum + each.bytes, 0);
  if (!going) showUploaded();
  place("queue").hidden = !all.length;
  place("whole").value = total ? bytes / total : 0;
  tell("count", `${done} of ${all.length}`);
  tell("pause-all", going ? "Pause all" : count("paused") ? "Resume all" : "Clear list");
  // Now and then, and at the end: a screen reader reads it out.
  if (all.length && (!going || Date.now() - toldAt > 8000)) {
    toldAt = Date.now();
    const text = `${done} of ${all.length} uploaded${failed ? `, ${failed} failed` : ""}`;
    if (place("said").textContent !== text) tell("said", text);
  }
}

place("pause-all").onclick = () => {
  const does = place("pause-all").textContent;
  for (const upload of queue.list) {
    if (does === "Pause all") queue.pause(upload);
    else if (does === "Resume all" && upload.is("paused")) queue.resume(upload);
    else if (does === "Clear list" && upload.isOver) queue.remove(upload);
  }
};

// -- The gallery.

const tiles = new Map();
const tellEmpty = () => { place("empty").hidden = tiles.size > 0; };
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    showPreview(target.dataset.key);
  }
}, { rootMargin: "200px" });

async function showPreview(key, known) {
  const entry = tiles.get(key);
  if (!entry?.photo.previewBytes || entry.url) return;
  try {
    const blob = known ?? await client.preview(entry.photo);
    if (tiles.get(key) !== entry) return;
    entry.url = URL.createObjectURL(blob);
    picture(entry.tile.querySelector(".picture"), entry.url);
  } catch { /* Its name is there. */ }
}

function addTile(photo, isNew, preview) {
  if (tiles.has(photo.objectKey)) return;
  const tile = make("li"), opener = button(() => openPhoto(photo.objectKey));
  opener.append(make("span", "picture", photo.type.split("/").pop().toUpperCase()), make("span", "name", photo.name),
    make("span", "when", day(photo.uploaded)));
  tile.append(opener);
  tile.dataset.key = photo.objectKey;
  tiles.set(photo.objectKey, { photo, tile });
  place("gallery")[isNew ? "prepend" : "append"](tile);
  if (preview) showPreview(photo.objectKey, preview);
  else seen.observe(tile);
  tellEmpty();
}

let next;
async function loadPhotos(after) {
  const mine = client;
  try {
    const found = await persist(() => mine.photos(after), hooks(place("renewed")));
    if (client !== mine) return;
    found.photos.forEach((each) => addTile(each));
    next = found.next;
    place("more").hidden = !next;
    tell("more", "Show more");
    tellEmpty();
    tell("renewed", "");
  } catch (error) {
    if (client !== mine) return;
    tell("renewed", `The gallery could not be read: ${why(error)}`);
    place("more").hidden = false;
    tell("more", "Try again");
  }
}

async function addToGallery(upload) {
  const { objectKey: assetKey, assetUrl, name, type, size } = upload.kept, mine = client, { signal } = queue.end;
  try {
    const preview = await makePreview(upload.file);
    const photo = await persist(() => mine.addPhoto({ assetKey, assetUrl, name, type, size }, preview), { signal });
    if (client !== mine) return;
    addTile(photo, true, preview);
    tabs.postMessage({ photo, user });
    upload.isShown = true;
    changed(upload);
    await queue.forget(upload);
  } catch (error) {
    if (client !== mine) return;
    queue.change(upload, "unlisted", why(error));
  }
}

/** At most 640 pixels; none of what the browser cannot show. */
async function makePreview(file) {
  if (!file?.type.startsWith("image/")) return;
  try {
    const image = await createImageBitmap(file), scale = Math.min(1, 640 / Math.max(image.width, image.height));
    const canvas = new OffscreenCanvas(Math.ceil(image.width * scale), Math.ceil(image.height * scale));
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    image.close();
    return await canvas.convertToBlob({ type: "image/jpeg", quality: 0.8 });
  } catch { /* It has none. */ }
}

async function renew(keys, said) {
  const entries = keys.flatMap((key) => tiles.get(key) ?? []), ends = [], mine = client, repeated = hooks(said);
  let done = 0;
  const count = () => `${done} of ${entries.length} renewed`;
  try {
    for (let start = 0; start < entries.length; start += 100) {
      said.textContent = count();
      const some = entries.slice(start, start + 100);
      const results = await persist(() => mine.renew(some.map((each) => each.photo.assetKey), repeated.signal), repeated);
      results.forEach(({ success, error, expiresAt }, index) => {
        const when = some[index].tile.querySelector(".when");
        if (success) done += 1;
        if (expiresAt) ends.push(expiresAt);
        if (success && expiresAt) when.textContent = `Until ${day(expiresAt)}`;
        if (error === "not_found") when.textContent = "No longer stored";
        when.classList.toggle("gone", error === "not_found");
      });
    }
    said.textContent = count() + (ends.length ? `, kept until ${day(ends.sort()[0])}` : "");
  } catch (error) {
    if (!repeated.signal.aborted) said.textContent = `${count()}: ${why(error)}`;
  }
}

function openPhoto(key) {
  const entry = tiles.get(key);
  if (!entry) return;
  const { name, type, size: bytes, uploaded, assetUrl } = entry.photo;
  tell("photo-picture", "No preview of this kind");
  if (entry.url) picture(place("photo-picture"), entry.url, name);
  tell("photo-name", name);
  tell("photo-facts", `${type}, ${size(bytes)}, uploaded on ${day(uploaded)}`);
  place("photo-open").href = assetUrl;
  // What ends later says nothing of another photo.
  const former = place("photo-said"), said = former.cloneNode();
  former.replaceWith(said);
  place("photo-renew").onclick = () => renew([key], said);
  place("photo-remove").onclick = async () => {
    try {
      await client.removePhoto(entry.photo);
      if (tiles.get(key) !== entry) return;
      if (said.isConnected) place("photo").close();
      entry.tile.remove();
      URL.revokeObjectURL(entry.url);
      tiles.delete(key);
      tellEmpty();
      place("gallery-title").focus();
    } catch (error) {
      said.textContent = why(error);
    }
  };
  place("photo").showModal();
}

// -- What the user does.

place("photo").onclose = () => {
  for (const part of ["picture", "name", "facts"]) tell("photo-" + part, "");
  place("photo-open").removeAttribute("href");
};
place("sign-in").oncancel = (event) => event.preventDefault();
// A second Escape closes it all the same.
place("sign-in").onclose = () => { if (asked) place("sign-in").showModal(); };
place("sign-in-out").onclick = place("sign-out").onclick = leave;
place("renew-all").onclick = async () => {
  const mine = queue;
  for (let last; next && next !== last;) await loadPhotos(last = next);
  if (queue === mine) await renew([...tiles.keys()], place("renewed"));
};
place("more").onclick = () => loadPhotos(next);
place("files").onchange = () => {
  queue.add(place("files").files);
  // So that the same ones can be chosen again.
  place("files").value = "";
};
for (const kind of ["dragover", "dragleave", "drop"]) {
  addEventListener(kind, (event) => {
    event.preventDefault();
    place("drop").classList.toggle("over", kind === "dragover" && Boolean(queue));
    // A folder has no type and cannot be read: it fails as such a file does.
    if (kind === "drop") queue?.add(event.dataTransfer?.files ?? []);
  });
}
tabs.onmessage = ({ data }) => {
  if (data.signedOut) signedOut.push(data.signedOut);
  if ((data.signedOut ?? data.user) !== user) return;
  if (data.kept) queue.adopt(data.kept);
  else if (data.photo) addTile(data.photo, true);
  else signOut();
};
addEventListener("pagehide", () => { place("token").value = ""; });
addEventListener("beforeunload", (event) => {
  // What is kept goes on at the next visit.
  if (queue?.list.some((each) => !each.isOver && !each.isKept)) event.preventDefault();
});

try {
  settings = await (await fetch("settings.json", { cache: "no-store" })).json();
} catch {
  tell("notice", "The page's settings.json cannot be read.");
}
if (isSecureContext) askFirst();
else tell("notice", "This page needs HTTPS.");
