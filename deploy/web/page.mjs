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
    const request = indexedDB.open("cloakroom", 1);
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

/** It is waiting, sending, held (by a limit or the network), paused, missing (its file is chosen again), elsewhere (in another tab),
 *  sent or failed. `kept` goes into the storage, and is the uploader's progress, too. */
class Upload {
  state = "waiting";
  note = "";
  bytes = 0;
  /** How often it was held in a row. */
  holds = 0;
  isKept = false;
  /** Whether it is in the gallery, and all is done. */
  isShown = false;
  abort = new AbortController();
  /** Lets another tab have it. */
  release = () => {};

  constructor(kept, file) { Object.assign(this, { kept, file }); }

  is(...states) { return states.includes(this.state); }
}

/** The uploads of one user; tells of each change. */
class Queue {
  list = [];
  #running = 0;
  #room = ROOM;
  end = new AbortController();

  constructor(client, user, changed) { Object.assign(this, { user, changed, uploader: new Uploader(client) }); }

  /** What an earlier visit left, and what other tabs leave when they are closed. */
  async restore() {
    const all = await storage((uploads) => uploads.getAll()).catch(() => []);
    for (const kept of all.filter((each) => each.user === this.user)) {
      const upload = new Upload(kept);
      upload.isKept = true;
      this.list.push(upload);
      this.#change(upload, "elsewhere");
      this.#own(upload, async () => {
        const [now, file] = await Promise.all([storage((uploads) => uploads.get(kept.id)),
          storage((_, files) => files.get(kept.id))]);
        // The other tab has completed it.
        if (!now) return this.remove(upload);
        Object.assign(upload, { kept: now, file, bytes: bytesOfParts(now) });
        this.#change(upload, now.isSent ? "sent" : !file ? "missing" : now.paused ? "paused" : "waiting");
      });
    }
  }

  add(files) {
    for (const file of files) {
      const { name, size, lastModified: modified } = file;
      let upload = this.list.find((each) => each.is("missing")
        && each.kept.name === name && each.kept.size === size && each.kept.modified === modified);
      if (upload) upload.file = file;
      else {
        upload = new Upload({ id: crypto.randomUUID(), user: this.user, name, size, modified, type: typeOf(file) }, file);
        this.list.push(upload);
        // What is over soon needs not be kept.
        setTimeout(() => this.list.includes(upload) && !upload.isShown && this.#keep(upload), size > LARGEST_WHOLE ? 0 : 10_000);
      }
      this.#change(upload, "waiting");
    }
  }

  pause(upload) {
    if (!upload.is("waiting", "sending", "held")) return;
    upload.kept.paused = true;
    upload.abort.abort();
    upload.bytes = bytesOfParts(upload.kept);
    this.#change(upload, "paused");
    this.#keep(upload);
  }

  /** Also one that has failed. */
  resume(upload) {
    if (!upload.is("paused", "failed")) return;
    upload.kept.paused = false;
    if (upload.isKept) this.#keep(upload);
    this.#change(upload, "waiting");
  }

  remove(upload) {
    upload.abort.abort();
    this.list = this.list.filter((each) => each !== upload);
    const { uploadId } = upload.kept;
    if (uploadId && !upload.is("sent", "elsewhere")) {
      // Else the bucket's rule removes its parts.
      this.uploader.client.request("DELETE", `/v2/uploads/${uploadId}`).catch(() => {});
    }
    this.forget(upload);
    this.changed(upload);
  }

  /** Ends all; nothing stays in the browser. */
  async close() {
    this.end.abort();
    const mine = this.list.splice(0).filter((each) => !each.is("elsewhere"));
    mine.forEach((each) => each.abort.abort());
    await Promise.all(mine.map((each) => this.forget(each)));
  }

  async forget(upload) {
    const { id } = upload.kept;
    if (upload.isKept) await storage((uploads, files) => (files.delete(id), uploads.delete(id))).catch(() => {});
    upload.release();
  }

  #change(upload, state, note = "") {
    Object.assign(upload, { state, note });
    this.changed(upload);
    if (state === "waiting") queueMicrotask(() => this.#start());
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
    const { kept, file } = upload, put = () => storage((uploads) => uploads.put(kept, kept.id));
    if (upload.isKept) return put().catch(() => {});
    upload.isKept = true;
    await this.#own(upload, async () => {
      await put().catch(() => { upload.isKept = false; });
      if (!file || kept.isSent || kept.size > this.#room) return;
      this.#room -= kept.size;
      await storage((_, files) => files.put(file, kept.id));
    });
    // It was over meanwhile.
    if (upload.isShown || !this.list.includes(upload)) this.forget(upload);
  }

  #start() {
    for (const upload of this.list) {
      if (this.#running >= FILES) return;
      if (!upload.is("waiting")) continue;
      this.#running += 1;
      this.#run(upload, upload.file).finally(() => {
        this.#running -= 1;
        this.#start();
      });
    }
  }

  async #run(upload, file) {
    const { signal } = upload.abort = new AbortController(), { kept } = upload;
    this.#change(upload, "sending");
    try {
      await this.uploader.send(file, kept, {
        signal,
        progress: (bytes) => {
          if (signal.aborted) return;
          upload.bytes = Math.min(bytes, kept.size);
          if (upload.is("sending")) upload.holds = 0;
          this.changed(upload);
        },
        held: (why, until) => {
          upload.holds += 1;
          this.#change(upload, "held", `${why}; next attempt at ${clock(until)}`
            + (upload.holds > 5 && navigator.onLine ? ". Does the bucket's CORS rule allow this page?" : ""));
        },
        resumed: () => this.#change(upload, "sending"),
        keep: () => this.#keep(upload),
      });
      upload.bytes = kept.size;
      kept.isSent = true;
      if (upload.isKept) this.#keep(upload);
      this.#change(upload, "sent");
    } catch (error) {
      if (signal.aborted) return;
      // Else the file was changed or removed meanwhile.
      const why = error instanceof CloakroomError ? error.message : "the file cannot be read: remove it, and choose it again";
      this.#change(upload, "failed", why);
    }
  }
}

/** Some browsers do not know HEIC, some call it HEIF. */
const typeOf = (file) => /\.hei[cf]$/i.test(file.name) ? "image/heic" : file.type || "application/octet-stream";

// -- What is seen: all as text, never as markup.

const place = (id) => document.getElementById(id);
const tell = (id, text) => { place(id).textContent = text; };
const make = (tag, kind = "", text = "") => Object.assign(document.createElement(tag), { className: kind, textContent: text });
const button = (kind, text, label, work) => {
  const node = make("button", kind, text);
  node.type = "button";
  node.onclick = work;
  if (label) node.setAttribute("aria-label", label);
  return node;
};
const size = (bytes) => bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
const clock = (time) => new Date(time).toLocaleTimeString("en", { timeStyle: "medium", hourCycle: "h23" });
const day = (date) => new Date(date).toLocaleDateString("en", { dateStyle: "medium" });
const why = (error) => error?.retryAfter ? `${error.message}; again at ${clock(Date.now() + error.retryAfter * 1000)}` : String(error?.message ?? error);

let settings = {};
let token = "", user = "";
let client, queue;
const tabs = new BroadcastChannel("cloakroom");

// -- Signing in and out.

const connect = (token) => new Cloakroom({ api: settings.api || location.origin, store: settings.store, token });

/** Takes a token, if it is one, and signs in with it, if there is no user. */
async function take(text) {
  const value = text.trim().replace(/^Bearer\s+/i, "");
  let wasTaken = false;
  const mine = connect(async (refused) => {
    if (!wasTaken) {
      if (refused) throw new CloakroomError(401, "unauthorized", "This token is not accepted");
      return value;
    }
    const given = token === refused ? await askAgain() : token;
    if (client !== mine) throw new CloakroomError(401, "signed_out", "Signed out");
    return given;
  });
  const { userId } = await mine.credentials();
  if (user && userId !== user) throw new CloakroomError(403, "forbidden", "This token is another user's: sign out first");
  token = value;
  if (user) return answer(value);
  client = mine;
  wasTaken = true;
  signIn(userId);
}

let asked;
let answer = () => {};
/** A new token, when the last one has ended. */
const askAgain = () => asked ??= new Promise((resolve) => {
  askForToken("Your token has ended", "Uploads wait for a new one, and then go on.");
  answer = (value) => {
    asked = undefined;
    place("sign-in").close();
    resolve(value);
  };
});

function askForToken(title, help) {
  tell("sign-in-title", title);
  tell("sign-in-help", help);
  place("sign-in-out").hidden = !user;
  if (user) place("sign-in").showModal();
  else place("sign-in").show();
  place("token").focus();
}

place("sign-in-form").onsubmit = async (event) => {
  event.preventDefault();
  const field = place("token"), fault = place("sign-in-fault"), sender = place("sign-in-button");
  sender.disabled = true;
  fault.textContent = "";
  try {
    await take(field.value);
    field.value = "";
  } catch (error) {
    fault.textContent = why(error);
    field.focus();
  }
  sender.disabled = false;
};

function show(isSignedIn) {
  place("signed-in").hidden = place("sign-out").hidden = !isSignedIn;
  tell("user", user);
  if (isSignedIn) place("sign-in").close();
  else askForToken("Sign in", "With the token that your app has for you. It stays in this page's memory: after a reload you sign in again.");
}

async function signIn(whose) {
  user = whose;
  queue = new Queue(client, user, changed);
  show(true);
  place("upload-title").focus();
  await queue.restore();
  await loadPhotos();
}

async function signOut() {
  const ended = queue;
  token = user = "";
  client = queue = undefined;
  answer("");
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
  rows.forEach((row) => row.remove());
  rows.clear();
  emptyGallery();
  tell("said", "");
  tell("renewed", "");
  show(false);
  await ended?.close();
}

function leave() {
  const isDone = queue.list.every((each) => each.isShown || each.is("failed"));
  if (!isDone && !confirm("Some uploads are not finished. Signing out gives them up, and removes what this browser keeps of them.")) return;
  tabs.postMessage({ signedOut: user });
  signOut();
}

// -- Uploads.

const rows = new Map();
const fresh = new Set();
const words = { waiting: "Waiting", paused: "Paused", missing: "Choose this file again to go on", elsewhere: "In another tab", sent: "Uploaded",
  failed: "Failed" };

const sent = new WeakSet();
/** What comes into the gallery once nothing is sent any more, or after five seconds. */
let waiting = [];
let previews = Promise.resolve();
function showWaiting() {
  for (const upload of waiting.splice(0)) previews = previews.then(() => queue && addToGallery(upload));
}
setInterval(showWaiting, 5000);

function changed(upload) {
  if (upload.is("sent") && !sent.has(upload)) {
    sent.add(upload);
    waiting.push(upload);
  }
  if (!fresh.size) setTimeout(draw, 250);
  fresh.add(upload);
}

function newRow(upload) {
  const { name } = upload.kept, row = make("li"), bar = make("progress");
  bar.max = upload.kept.size || 1;
  bar.setAttribute("aria-label", name);
  const does = make("span", "does");
  does.append(button("small", "", "", () => upload.is("paused", "failed") ? queue.resume(upload) : queue.pause(upload)),
    button("small", "Remove", "Remove " + name, () => queue.remove(upload)));
  row.append(make("span", "name", name), make("span", "state"), does, bar);
  place("uploads").append(row);
  return row;
}

function draw() {
  for (const upload of fresh) {
    const { state, note, bytes, kept } = upload;
    if (upload.isShown || !queue?.list.includes(upload)) {
      const row = rows.get(upload);
      if (row?.contains(document.activeElement)) place("files").focus();
      row?.remove();
      rows.delete(upload);
      continue;
    }
    const row = rows.get(upload) ?? newRow(upload), [first, second] = row.querySelectorAll("button");
    rows.set(upload, row);
    row.className = state;
    row.querySelector(".state").textContent = [words[state], upload.is("sending") && `${size(bytes)} of ${size(kept.size)}`, note]
      .filter(Boolean).join(": ");
    row.querySelector("progress").value = bytes;
    row.querySelector("progress").hidden = upload.is("sent", "failed");
    first.textContent = upload.is("failed") ? "Try again" : upload.is("paused") ? "Resume" : "Pause";
    first.setAttribute("aria-label", `${first.textContent} ${kept.name}`);
    first.hidden = upload.is("sent", "missing", "elsewhere");
    second.hidden = upload.is("elsewhere");
  }
  fresh.clear();
  drawWhole();
}

let toldAt = 0;
function drawWhole() {
  const list = queue?.list ?? [], [done, failed, paused, going] = [["sent"], ["failed"], ["paused"], ["waiting", "sending", "held"]]
    .map((states) => list.filter((each) => each.is(...states)).length);
  const total = list.reduce((sum, each) => sum + each.kept.size, 0), bytes = list.reduce((sum, each) => sum + each.bytes, 0);
  if (!going) showWaiting();
  place("queue").hidden = !list.length;
  place("whole").value = total ? bytes / total : 0;
  tell("count", `${done} of ${list.length}`);
  tell("pause-all", going ? "Pause all" : paused ? "Resume all" : "Clear list");
  // Now and then, and at the end: a screen reader reads it out.
  if (list.length && (!going || Date.now() - toldAt > 8000)) {
    toldAt = Date.now();
    const text = `${done} of ${list.length} uploaded${failed ? `, ${failed} failed` : ""}`;
    if (place("said").textContent !== text) tell("said", text);
  }
}

place("pause-all").onclick = () => {
  const does = place("pause-all").textContent;
  for (const upload of [...queue.list]) {
    if (does === "Pause all") queue.pause(upload);
    else if (does === "Resume all" && upload.is("paused")) queue.resume(upload);
    else if (does === "Clear list" && upload.is("sent", "failed")) queue.remove(upload);
  }
};

// -- The gallery.

const tiles = new Map();
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    showPreview(target.dataset.key);
  }
}, { rootMargin: "200px" });

async function showPreview(key, known) {
  const entry = tiles.get(key), mine = client;
  if (!entry?.photo.previewBytes || entry.url) return;
  try {
    const blob = known ?? await mine.preview(entry.photo);
    if (tiles.get(key) !== entry) return;
    entry.url = URL.createObjectURL(blob);
    const image = make("img");
    image.alt = "";
    image.src = entry.url;
    entry.tile.querySelector(".picture").replaceChildren(image);
  } catch { /* Its name is there. */ }
}

function addTile(photo, isNew, preview) {
  if (tiles.has(photo.objectKey)) return;
  const tile = make("li"), opener = button("", "", "", () => openPhoto(photo.objectKey));
  opener.append(make("span", "picture", photo.type.split("/").pop()?.toUpperCase()), make("span", "name", photo.name),
    make("span", "when", day(photo.uploaded)));
  tile.append(opener);
  tile.dataset.key = photo.objectKey;
  tiles.set(photo.objectKey, { photo, tile });
  if (isNew) place("gallery").prepend(tile);
  else place("gallery").append(tile);
  if (preview) showPreview(photo.objectKey, preview);
  else seen.observe(tile);
  place("empty").hidden = true;
}

function emptyGallery() {
  for (const { url } of tiles.values()) if (url) URL.revokeObjectURL(url);
  tiles.clear();
  place("gallery").replaceChildren();
}

let next;
async function loadPhotos(after) {
  const mine = client;
  try {
    const found = await persist(() => mine.photos(after),
      { signal: queue.end.signal, held: (why, until) => tell("renewed", `${why}; next attempt at ${clock(until)}`) });
    if (client !== mine) return;
    found.photos.forEach((each) => addTile(each, false));
    next = found.next;
    place("more").hidden = !next;
    tell("more", "Show more");
    place("empty").hidden = tiles.size > 0;
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
    // There it is seen; the list is for what is not done.
    upload.isShown = true;
    changed(upload);
    await queue.forget(upload);
  } catch (error) {
    if (client !== mine) return;
    upload.note = `not in the gallery: ${why(error)}`;
    changed(upload);
  }
}

/** At most 640 pixels; none of what the browser cannot show. */
async function makePreview(file) {
  if (!file?.type.startsWith("image/")) return undefined;
  try {
    const image = await createImageBitmap(file), scale = Math.min(1, 640 / Math.max(image.width, image.height));
    const canvas = new OffscreenCanvas(Math.ceil(image.width * scale), Math.ceil(image.height * scale));
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    image.close();
    return await canvas.convertToBlob({ type: "image/jpeg", quality: 0.8 });
  } catch {
    return undefined;
  }
}

async function renew(keys, said) {
  const entries = keys.flatMap((key) => tiles.get(key) ?? []), ends = [], { signal } = queue.end;
  let done = 0;
  try {
    for (let start = 0; start < entries.length; start += 100) {
      said.textContent = `${done} of ${entries.length} renewed`;
      const some = entries.slice(start, start + 100);
      const results = await persist(() => client.renew(some.map((each) => each.photo.assetKey)),
        { signal, held: (why, until) => { said.textContent = `${why}; next attempt at ${clock(until)}`; } });
      results.forEach(({ success, error, expiresAt }, index) => {
        const when = some[index].tile.querySelector(".when");
        if (success) done += 1;
        if (expiresAt) ends.push(expiresAt);
        if (success && expiresAt) when.textContent = `Until ${day(expiresAt)}`;
        if (error === "not_found") when.textContent = "No longer stored";
        when.classList.toggle("gone", error === "not_found");
      });
    }
    said.textContent = `${done} of ${entries.length} renewed` + (ends.length ? `, kept until ${day(ends.sort()[0])}` : "");
  } catch (error) {
    if (!signal.aborted) said.textContent = `${done} of ${entries.length} renewed: ${why(error)}`;
  }
}

function openPhoto(key) {
  const entry = tiles.get(key), picture = place("photo-picture");
  if (!entry) return;
  const { name, type, size: bytes, uploaded, assetUrl } = entry.photo;
  picture.textContent = "No preview of this kind";
  if (entry.url) {
    const image = make("img");
    image.src = entry.url;
    image.alt = name;
    picture.replaceChildren(image);
  }
  tell("photo-name", name);
  tell("photo-facts", `${type}, ${size(bytes)}, uploaded on ${day(uploaded)}`);
  tell("photo-said", "");
  place("photo-open").href = assetUrl;
  place("photo-renew").onclick = () => renew([key], place("photo-said"));
  place("photo-remove").onclick = async () => {
    try {
      await client.removePhoto(entry.photo);
      place("photo").close();
      entry.tile.remove();
      if (entry.url) URL.revokeObjectURL(entry.url);
      tiles.delete(key);
      place("empty").hidden = tiles.size > 0;
      place("gallery-title").focus();
    } catch (error) {
      tell("photo-said", why(error));
    }
  };
  place("photo").showModal();
}

// -- What the user does.

place("sign-in").oncancel = (event) => event.preventDefault();
// A second Escape closes it all the same.
place("sign-in").onclose = () => { if (asked) place("sign-in").showModal(); };
place("sign-in-out").onclick = leave;
place("sign-out").onclick = leave;
place("renew-all").onclick = async () => {
  for (let last; next && next !== last;) await loadPhotos(last = next);
  await renew([...tiles.keys()], place("renewed"));
};
place("more").onclick = () => loadPhotos(next);
place("files").onchange = () => {
  queue.add([...place("files").files]);
  // So that the same ones can be chosen again.
  place("files").value = "";
};
for (const kind of ["dragover", "dragleave", "drop"]) {
  addEventListener(kind, (event) => {
    event.preventDefault();
    place("drop").classList.toggle("over", kind === "dragover" && Boolean(queue));
    // A folder has no type and cannot be read: it fails as such a file does.
    if (kind === "drop") queue?.add([...event.dataTransfer?.files ?? []]);
  });
}
tabs.onmessage = ({ data }) => {
  if (!user || (data.signedOut ?? data.user) !== user) return;
  if (data.photo) addTile(data.photo, true);
  else signOut();
};
addEventListener("beforeunload", (event) => {
  // What is kept goes on at the next visit.
  if (queue?.list.some((each) => !each.is("failed") && !each.isShown && !each.isKept)) event.preventDefault();
});

try {
  settings = await (await fetch("settings.json", { cache: "no-store" })).json();
} catch {
  tell("notice", "The page's settings.json cannot be read.");
}
if (isSecureContext) show(false);
else tell("notice", "This page needs HTTPS.");
