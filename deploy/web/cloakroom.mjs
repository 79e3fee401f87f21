// @ts-check
/**
 * A client of Cloakroom for browsers: uploads by presigned PUT or in parts, keeps a gallery, renews. Token and credentials stay in
 * memory. The manual's page "A web page that uploads" says how to use it.
 *
 * @typedef {{accessKeyId: string, secretAccessKey: string, sessionToken?: string | null}} Credentials
 * @typedef {{credentials: Credentials & {expiration: string}, region: string, bucket: string, userId: string,
 *   prefixes: Record<string, string>}} Vended the response of `POST /api/v1/auth/sts-token`
 * @typedef {{method: string, path: string, query: string, fields: [string, string][], payloadHash: string}} Message path and
 *   query as in the request line; fields with `host`; the payload's SHA-256 in hexadecimal, or `UNSIGNED-PAYLOAD`
 * @typedef {{normalizesPath?: boolean, encodesPathAgain?: boolean, sendsPayloadHash?: boolean,
 *   leavesSessionTokenUnsigned?: boolean}} Rules what services differ in; S3's are the default
 * @typedef {{assetKey: string, assetUrl: string, name: string, type: string, size: number}} Asset
 * @typedef {Asset & {objectKey: string, uploaded: Date, previewBytes: number}} Photo of the gallery; `objectKey` is its preview's
 * @typedef {{key: string, success: boolean, error?: string, expiresAt?: string}} Renewed
 * @typedef {{type: string, size: number, uploadId?: string, objectKey?: string, assetUrl?: string, partBytes?: number,
 *   partCount?: number, done?: Record<number, string>}} Progress of an upload, with the entity tags of parts that S3 has: kept, and
 *   given again, the upload goes on. It holds neither token nor credentials
 * @typedef {{signal: AbortSignal, progress?: (bytes: number) => void, held?: (why: string, until: number) => void,
 *   resumed?: () => void, keep?: () => unknown}} Hooks `held`: until a time in milliseconds since 1970; `keep`: the progress changed
 */

/** A refusal or a failure: of the worker with its `code`, of S3 with `s3_` and S3's code, or `network` with status 0. */
export class CloakroomError extends Error {
  /** @param {number} status @param {string} code @param {string} message
   *  @param {{retryAfter?: number, reason?: string}} more `retryAfter`: seconds, where the response says so */
  constructor(status, code, message, more = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.reason = more.reason;
    this.retryAfter = more.retryAfter;
    /** Whether the same request may succeed later; S3 has such among its 400 and 409. */
    this.retryable = status === 0 || status === 429 || status >= 500
      || ["s3_RequestTimeout", "s3_ConditionalRequestConflict", "s3_OperationAborted"].includes(code);
  }
}

// -- Signature Version 4: IAM User Guide, "AWS Signature Version 4 for API requests".

const utf8 = new TextEncoder();
/** @type {(bytes: ArrayBuffer) => string} */
const hexadecimal = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
/** @type {(data: string | ArrayBuffer) => Promise<string>} in hexadecimal */
export const sha256 = async (data) =>
  hexadecimal(await crypto.subtle.digest("SHA-256", typeof data === "string" ? utf8.encode(data) : data));
/** @type {(key: ArrayBuffer | Uint8Array, text: string) => Promise<ArrayBuffer>} */
const hmac = async (key, text) => crypto.subtle.sign(
  "HMAC", await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]), utf8.encode(text));
/** @type {(text: string) => string} every byte but the unreserved ones of RFC 3986 */
const encode = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (each) => "%" + each.charCodeAt(0).toString(16).toUpperCase());
/** @type {(key: string) => string} */
const encodePath = (key) => key.split("/").map(encode).join("/");
/** @type {(query: string) => string} each parameter encoded exactly once, sorted by name and value: NUL sorts first */
const canonicalQuery = (query) => query.split("&").filter(Boolean)
  .map((part) => {
    const [name, ...value] = part.split("=");
    return encode(decodeURIComponent(name)) + "\0" + encode(decodeURIComponent(value.join("=")));
  })
  .sort().join("&").replaceAll("\0", "=");

/** @type {(path: string, rules: Rules) => string} */
function canonicalPath(path, rules) {
  if (rules.normalizesPath) {
    /** @type {string[]} */
    const segments = [];
    for (const segment of path.split("/")) {
      if (segment === "..") segments.pop();
      else if (segment !== "" && segment !== ".") segments.push(segment);
    }
    path = "/" + segments.join("/") + (segments.length && path.endsWith("/") ? "/" : "");
  }
  return rules.encodesPathAgain ? encodePath(path) : path;
}

/** Fields that proxies or the browser may change. */
const unsigned = ["te", "expect", "upgrade", "connection", "user-agent", "authorization", "x-amzn-trace-id", "transfer-encoding"];

/** @type {(fields: [string, string][]) => {lines: string, names: string}} */
function canonicalFields(fields) {
  /** @type {Map<string, string[]>} */
  const values = new Map();
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    if (!unsigned.includes(lower)) values.set(lower, [...values.get(lower) ?? [], value.trim().replace(/\s+/g, " ")]);
  }
  const names = [...values.keys()].sort();
  return { lines: names.map((name) => `${name}:${values.get(name)?.join(",")}\n`).join(""), names: names.join(";") };
}

/**
 * Signs a request: in its header fields or, with `expires` (seconds), in its query. Gives the stages, and what to send.
 * @param {Message} message @param {Credentials} credentials
 * @param {{region: string, service?: string, time: Date, expires?: number, rules?: Rules}} options
 */
export async function sign(message, credentials, { region, service = "s3", time, expires, rules = { sendsPayloadHash: true } }) {
  const timestamp = time.toISOString().replace(/[-:]|\.\d+/g, "");
  const scope = [timestamp.slice(0, 8), region, service, "aws4_request"];
  const token = credentials.sessionToken ?? "";
  const signsToken = token && !rules.leavesSessionTokenUnsigned, inQuery = `X-Amz-Security-Token=${encode(token)}`;
  let query = message.query;
  let fields = message.fields.filter(([name]) => name.toLowerCase() !== "x-amz-date");
  if (expires === undefined) {
    /** @type {[string, string][]} */
    const added = [["x-amz-date", timestamp]];
    if (rules.sendsPayloadHash) added.push(["x-amz-content-sha256", message.payloadHash]);
    if (signsToken) added.push(["x-amz-security-token", token]);
    fields = fields.filter(([name]) => !added.some((field) => field[0] === name.toLowerCase())).concat(added);
  }
  const { lines, names } = canonicalFields(fields);
  if (expires !== undefined) {
    query = [query, "X-Amz-Algorithm=AWS4-HMAC-SHA256", `X-Amz-Credential=${encode([credentials.accessKeyId, ...scope].join("/"))}`,
      `X-Amz-Date=${timestamp}`, `X-Amz-Expires=${expires}`, `X-Amz-SignedHeaders=${encode(names)}`,
      signsToken ? inQuery : ""].filter(Boolean).join("&");
  }
  query = canonicalQuery(query);
  const canonicalRequest = [message.method, canonicalPath(message.path, rules), query, lines, names, message.payloadHash].join("\n");
  const stringToSign = ["AWS4-HMAC-SHA256", timestamp, scope.join("/"), await sha256(canonicalRequest)].join("\n");
  /** @type {ArrayBuffer | Uint8Array} */
  let key = utf8.encode("AWS4" + credentials.secretAccessKey);
  for (const part of scope) key = await hmac(key, part);
  const signature = hexadecimal(await hmac(key, stringToSign));
  if (expires !== undefined) {
    query += `&X-Amz-Signature=${signature}` + (token && !signsToken ? "&" + inQuery : "");
  } else {
    if (token && !signsToken) fields.push(["x-amz-security-token", token]);
    fields.push(["authorization", `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope.join("/")}, `
      + `SignedHeaders=${names}, Signature=${signature}`]);
  }
  return { canonicalRequest, stringToSign, signature, fields, query };
}

// -- The worker and S3.

/** @type {any} not each version of TypeScript knows all of it */
const Signals = AbortSignal;
/** @type {(...signals: (AbortSignal | undefined)[]) => AbortSignal} */
const anyOf = (...signals) => Signals.any(signals.filter(Boolean));

const noConnection = () => new CloakroomError(0, "network", "No connection");

/** @type {(url: string, options: RequestInit, signal?: AbortSignal) => Promise<{response: Response, received: Blob}>} with the
 *  whole body: one that breaks off is a failure of the network, whatever its status */
async function send(url, options, signal) {
  try {
    const response = await fetch(
      url, { ...options, cache: "no-store", credentials: "omit", signal: anyOf(signal, Signals.timeout(30_000)) });
    return { response, received: await response.blob() };
  } catch {
    signal?.throwIfAborted();
    throw noConnection();
  }
}

/** @type {(status: number, text: string) => CloakroomError} */
const s3Error = (status, text) => {
  const [code, message] = ["Code", "Message"].map((name) => new RegExp(`<${name}>([^<]*)`).exec(text)?.[1]);
  return new CloakroomError(status, `s3_${code ?? status}`, message ?? `S3 responded with ${status}`);
};

/** One user's access. */
export class Cloakroom {
  /** @type {Promise<Vended> | undefined} */
  #vended;
  /** Milliseconds that the servers' clocks are ahead of this one. */
  #skew = 0;

  /**
   * @param {{api: string, store?: string, pathStyle?: boolean, token: (refused?: string) => Promise<string>}} options the worker's
   *   address; S3's, with the bucket in the host's name or without, AWS' own when it is empty; whether the bucket is in the path though
   *   that name begins as the bucket's; what gives the user's token, told which one was refused
   */
  constructor({ api, store, pathStyle, token }) {
    this.api = api.replace(/\/$/, "");
    this.store = store;
    this.pathStyle = pathStyle;
    this.token = token;
  }

  /** By the servers' clocks: those of devices are often wrong. */
  now() { return Date.now() + this.#skew; }

  /** @param {string | null | undefined} date of a server */
  #setClock(date) {
    const ahead = Date.parse(date ?? "") - Date.now();
    // Its seconds are whole, and a minute makes no difference.
    if (!Number.isNaN(ahead)) this.#skew = Math.abs(ahead) > 60_000 ? ahead : 0;
  }

  /** A request to the worker; after 401 once more, with another token. Gives the response's body.
   *  @param {string} method @param {string} path @param {object} [body] @param {AbortSignal} [signal] */
  async request(method, path, body, signal) {
    for (let refused, token = await this.token(); ; token = await this.token(refused = token)) {
      const headers = { Authorization: `Bearer ${token}`, ...body && { "Content-Type": "application/json" } };
      const { response: { ok, status, headers: fields }, received } = await send(
        this.api + path, { method, headers, body: body && JSON.stringify(body) }, signal);
      this.#setClock(fields.get("Date"));
      const said = await received.text().then(JSON.parse).catch(() => {
        // Such as a hotspot's own page.
        if (ok) throw noConnection();
        return {};
      });
      if (ok) return said;
      if (status === 401 && refused === undefined) continue;
      const retryAfter = Number(fields.get("Retry-After")) || undefined;
      throw new CloakroomError(status, said.code ?? "unknown", said.error ?? `Status ${status}`, { retryAfter, reason: said.reason });
    }
  }

  /** Credentials that last five minutes more; one request for all that need them at once.
   *  @returns {Promise<Vended>} */
  async credentials() {
    const kept = this.#vended;
    if (kept) {
      if (Date.parse((await kept).credentials.expiration) - this.now() > 300_000) return kept;
      // Another call has requested new ones meanwhile.
      if (this.#vended !== kept) return this.credentials();
    }
    const fresh = this.#vended = this.request("POST", "/api/v1/auth/sts-token").then((/** @type {Vended} */ vended) => {
      if (vended.userId && vended.credentials) return vended;
      throw new CloakroomError(200, "no_credentials", "The response has no credentials");
    });
    fresh.catch(() => { if (this.#vended === fresh) this.#vended = undefined; });
    return fresh;
  }

  /** A request to S3 with vended credentials; with new ones when S3 does not take these, or the time. Gives the response's body.
   *  @param {string} method @param {string} key @param {{query?: string, body?: Blob, signal?: AbortSignal}} options */
  async s3(method, key, { query = "", body, signal } = {}) {
    for (let attempt = 1; ; attempt++) {
      const vended = await this.credentials();
      const { bucket, region } = vended, inHost = this.pathStyle ? "" : bucket + ".";
      // No certificate is for a bucket with dots. These are the worker's own rules.
      const { origin, host } = new URL(this.store
        || `https://${bucket.includes(".") ? "" : inHost}s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`);
      const path = (inHost && host.startsWith(inHost) ? "" : "/" + bucket) + "/" + encodePath(key);
      const payload = await body?.arrayBuffer();
      /** @type {[string, string][]} */
      const fields = [["host", host]];
      if (body?.type) fields.push(["content-type", body.type]);
      // What only reads is signed in the query: so it needs no preflight for each.
      const reads = method === "GET";
      const message = { method, path, query, fields, payloadHash: reads ? "UNSIGNED-PAYLOAD" : await sha256(payload ?? "") };
      const signed = await sign(message, vended.credentials, { region, time: new Date(this.now()), expires: reads ? 300 : undefined });
      const headers = reads ? {} : Object.fromEntries(signed.fields.filter(([name]) => name !== "host"));
      const { response, received } = await send(
        origin + path + (signed.query && "?" + signed.query), { method, headers, body: payload }, signal);
      if (response.ok) return received;
      const text = await received.text();
      if (attempt > 1 || ![400, 401, 403].includes(response.status)) throw s3Error(response.status, text);
      this.#setClock(/<ServerTime>([^<]*)/.exec(text)?.[1]);
      if (await this.#vended === vended) this.#vended = undefined;
    }
  }

  /** The gallery's folder: an object's name says which asset it stands for, its bytes are a preview. */
  async #folder() {
    const { prefixes } = await this.credentials();
    const prefix = prefixes.thumbnails ?? Object.values(prefixes)[0];
    if (prefix === undefined) throw new CloakroomError(403, "forbidden", "These credentials open no folder");
    return prefix + "web/";
  }

  /** A page of the gallery, the newest first.
   *  @param {string} [after] the `next` of the page before */
  async photos(after) {
    const folder = await this.#folder();
    const query = `list-type=2&max-keys=100&prefix=${encode(folder)}` + (after ? `&continuation-token=${encode(after)}` : "");
    const listing = new DOMParser().parseFromString(await (await this.s3("GET", "", { query })).text(), "text/xml");
    /** @type {(node: Element | Document, name: string) => string} */
    const text = (node, name) => node.getElementsByTagName(name)[0]?.textContent ?? "";
    const photos = [...listing.getElementsByTagName("Contents")].flatMap((entry) => {
      const objectKey = text(entry, "Key"), asset = readName(objectKey.slice(folder.length));
      return asset ? [{ ...asset, objectKey, previewBytes: Number(text(entry, "Size")) }] : [];
    });
    return { photos, next: text(listing, "NextContinuationToken") || undefined };
  }

  /** Adds an asset to the gallery.
   *  @param {Asset} asset @param {Blob} [preview] */
  async addPhoto(asset, preview = new Blob()) {
    const uploaded = new Date(this.now());
    const objectKey = await this.#folder() + writeName(asset, uploaded);
    await this.s3("PUT", objectKey, { body: preview });
    return { ...asset, objectKey, uploaded, previewBytes: preview.size };
  }

  /** @param {Photo} photo @param {AbortSignal} [signal] */
  preview(photo, signal) { return this.s3("GET", photo.objectKey, { signal }); }

  /** Takes a photo out of the gallery; the asset itself ends by the bucket's rule.
   *  @param {Photo} photo */
  async removePhoto(photo) { await this.s3("DELETE", photo.objectKey); }

  /** Restarts the days of assets; one result for each key, in order.
   *  @param {string[]} keys @param {AbortSignal} [signal] */
  async renew(keys, signal) {
    /** @type {Renewed[]} */
    const results = [];
    for (let start = 0; start < keys.length; start += 100) {
      const assetKeys = keys.slice(start, start + 100);
      results.push(...(await this.request("POST", "/v2/assets/renew-batch", { assetKeys }, signal)).results);
    }
    return results;
  }
}

/** Until then, in 2286, names sort the later first. */
const LAST = 9_999_999_999_999;

/** @type {(asset: Asset, uploaded: Date) => string} all that a list of photos needs, so that one listing is enough */
function writeName({ assetKey, assetUrl, name, type, size }, uploaded) {
  // A key has at most 1,024 bytes.
  const text = encode(JSON.stringify([assetKey, assetUrl, size, type, [...name].slice(0, 50).join("")]));
  return `${String(LAST - uploaded.getTime()).padStart(13, "0")}.${text}`;
}

/** @type {(name: string) => (Asset & {uploaded: Date}) | undefined} nothing for a name that is not of `writeName` */
function readName(name) {
  try {
    const [assetKey, assetUrl, size, type, title] = JSON.parse(decodeURIComponent(name.slice(14)));
    if (![assetKey, type, title].every((each) => typeof each === "string") || !/^https?:\/\//.test(assetUrl)) return undefined;
    return { assetKey, assetUrl, size: Number(size), type, name: title, uploaded: new Date(LAST - Number(name.slice(0, 13))) };
  } catch {
    return undefined;
  }
}

// -- Uploads.

/** At once, as many connections as browsers open to one server. */
const TRANSFERS = 6;
export const LARGEST_WHOLE = 16 * 1024 * 1024;
/** Milliseconds without a byte after which a transfer counts as broken. */
const STALLED = 60_000;

/** Repeats work that fails for a time, until it succeeds, is refused, or the signal ends it: after `Retry-After` or growing waits.
 *  @template T @param {() => Promise<T>} work @param {Hooks} hooks @returns {Promise<T>} */
export async function persist(work, { signal, held, resumed }) {
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    if (attempt) resumed?.();
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof CloakroomError) || !error.retryable) throw error;
      const { status } = error, wait = (error.retryAfter ?? 0) * 1000 + Math.random() * Math.min(30_000, 1000 * 2 ** attempt);
      held?.(error.message, Date.now() + wait);
      await new Promise((resolve) => {
        // A timer takes 31 bits.
        setTimeout(resolve, Math.min(wait, 2 ** 31 - 1));
        signal.addEventListener("abort", resolve, { once: true });
        // What a browser thinks of its network is a hint.
        if (status === 0) addEventListener("online", resolve, { once: true, signal });
      });
    }
  }
}

/** @type {(url: string, body: Blob, headers: Record<string, string>, signal: AbortSignal, progress?: (bytes: number) => void)
 *  => Promise<string>} PUT with progress, which fetch has not; gives the entity tag where the page may see it. Fails when the file
 *  has changed meanwhile: browsers look when they open it, and so another time afterwards */
const put = (url, body, headers, signal, progress) => new Promise((resolve, reject) => {
  signal.throwIfAborted();
  const request = new XMLHttpRequest();
  const stop = () => request.abort();
  /** @type {any} */
  let watch;
  const wait = (more = 0) => {
    clearTimeout(watch);
    watch = setTimeout(stop, STALLED + more);
  };
  wait();
  request.open("PUT", url);
  for (const [name, value] of Object.entries(headers)) {
    // The browser says the length itself.
    if (name.toLowerCase() !== "content-length") request.setRequestHeader(name, value);
  }
  request.upload.onprogress = (event) => {
    wait();
    progress?.(event.loaded);
  };
  // All bytes are in buffers on the way to S3, which can empty slowly: six transfers share 100 KB a second.
  request.upload.onload = () => wait(body.size / 16);
  request.onloadend = () => {
    clearTimeout(watch);
    signal.removeEventListener("abort", stop);
    if (request.status >= 200 && request.status < 300) resolve(request.getResponseHeader("ETag") ?? "");
    else reject(request.status ? s3Error(request.status, request.responseText) : noConnection());
  };
  signal.addEventListener("abort", stop);
  request.send(body);
}).finally(() => body.slice(0, 1).arrayBuffer());

/** @type {(progress: Progress) => number} */
export const bytesOfParts = ({ done = {}, size, partBytes = 0, partCount = 0 }) => Object.keys(done).reduce(
  (sum, number) => sum + (Number(number) === partCount ? size - (partCount - 1) * partBytes : partBytes), 0);

/** Sends files: six transfers at once, whatever the files; a limit of the worker's holds all that are not smaller. */
export class Uploader {
  #transfers = 0;
  /** @type {Function[]} */
  #waiting = [];
  /** The worker's: until a time in milliseconds since 1970, for so many bytes and more. */
  #limit = { until: 0, bytes: 0 };

  /** @param {Cloakroom} client */
  constructor(client) { this.client = client; }

  /** Sends one file, or what S3 does not have of it yet. The progress then names the asset.
   *  @param {Blob} file @param {Progress} progress @param {Hooks} hooks */
  async send(file, progress, hooks) {
    for (let restarts = 0; ; restarts++) {
      try {
        if (progress.size > LARGEST_WHOLE) return await this.#sendParts(file, progress, hooks);
        return await this.#sendWhole(file, progress, hooks);
      } catch (error) {
        if (hooks.signal.aborted) throw error;
        if (!(error instanceof CloakroomError)) {
          // The file has changed or is gone: what S3 has of it is of no use.
          this.giveUp(progress);
          hooks.keep?.();
          throw error;
        }
        // The worker's settings have no multipart uploads.
        if (error.code === "not_found" && !progress.uploadId) return this.#sendWhole(file, progress, hooks);
        // It is over after a day, or parts are not as planned.
        if (restarts > 1 || !["upload_not_found", "upload_incomplete", "s3_NoSuchUpload"].includes(error.code)) throw error;
        const missing = error.reason === "part_missing" ? /\d+/.exec(error.message)?.[0] : undefined;
        if (missing) delete progress.done?.[Number(missing)];
        else progress.uploadId = undefined;
      }
    }
  }

  /** Removes what S3 has of an unfinished upload; after five seconds that is left to the bucket's rule.
   *  @param {Progress} progress */
  async giveUp(progress) {
    const { uploadId } = progress;
    progress.uploadId = undefined;
    if (uploadId) await this.client.request("DELETE", `/v2/uploads/${uploadId}`, undefined, Signals.timeout(5000)).catch(() => {});
  }

  /** @param {Blob} file @param {Progress} progress @param {Hooks} hooks */
  async #sendWhole(file, progress, hooks) {
    const path = `/v2/attachments/presigned?contentType=${encode(progress.type)}&contentLength=${progress.size}`;
    /** @type {any} */
    let place;
    let refusals = 0;
    await persist(async () => {
      if (!place || this.#isOver(place)) place = await this.#request("GET", path, hooks, progress.size);
      try {
        await this.#transfer(() => put(place.uploadUrl, file, place.headers, hooks.signal, hooks.progress));
      } catch (error) {
        // It was there already: only the response was lost.
        if (place.wasSent && Object(error).status === 412) return;
        place.wasSent = true;
        if (mayHaveEnded(error, refusals++)) place = undefined;
        throw error;
      }
    }, hooks);
    Object.assign(progress, { objectKey: place.objectKey, assetUrl: place.assetUrl });
  }

  /** @param {Blob} file @param {Progress} progress @param {Hooks} hooks */
  async #sendParts(file, progress, hooks) {
    if (!progress.uploadId) {
      const body = { contentType: progress.type, contentLength: progress.size };
      const { uploadId, objectKey, assetUrl, partBytes, partCount } = await persist(
        () => this.#request("POST", "/v2/uploads", hooks, progress.size, body), hooks);
      Object.assign(progress, { uploadId, objectKey, assetUrl, partBytes, partCount, done: {} });
      hooks.keep?.();
    }
    const { done = {}, partCount = 0 } = progress, numbers = Array.from({ length: partCount }, (_, index) => index + 1);
    const missing = numbers.filter((each) => !(each in done));
    // The first part that fails for good ends the others.
    const abort = new AbortController();
    try {
      const sendPart = this.#partSender(file, progress, { ...hooks, signal: anyOf(hooks.signal, abort.signal) });
      await Promise.all([1, 2, 3].map(async () => {
        for (let number = missing.shift(); number; number = missing.shift()) await sendPart(number);
      }));
    } finally {
      abort.abort();
    }
    const etags = numbers.map((each) => done[each]);
    await persist(() => this.#request(
      "POST", `/v2/uploads/${progress.uploadId}/complete`, hooks, 0, etags.every(Boolean) ? { etags } : {}), hooks);
    progress.uploadId = undefined;
  }

  /** @param {Blob} file @param {Progress} progress @param {Hooks} hooks @returns {(number: number) => Promise<void>} */
  #partSender(file, progress, hooks) {
    const { done = {}, partBytes = 0, partCount = 0 } = progress;
    /** @type {Map<number, {uploadUrl: string, expiresAt: string}>} */
    const places = new Map();
    let sending = 0;
    const tell = (more = 0) => hooks.progress?.(bytesOfParts(progress) + (sending += more));
    /** @type {Promise<unknown>} */
    let asked = Promise.resolve();
    /** @type {(number: number) => Promise<{uploadUrl: string} | undefined>} one request for ten parts, the others wait for it */
    const place = (number) => {
      const mine = asked.then(async () => {
        const known = places.get(number);
        if (known && !this.#isOver(known)) return known;
        const path = `/v2/uploads/${progress.uploadId}/parts?numbers=${number}-${Math.min(partCount, number + 9)}`;
        const { parts, expiresAt } = await this.#request("GET", path, hooks);
        for (const { partNumber, uploadUrl } of parts) places.set(partNumber, { uploadUrl, expiresAt });
        return places.get(number);
      });
      asked = mine.catch(() => {});
      return mine;
    };
    return (number) => {
      let refusals = 0;
      return persist(() => this.#transfer(async () => {
        const { uploadUrl = "" } = await place(number) ?? {};
        const part = file.slice((number - 1) * partBytes, number * partBytes);
        let sent = 0;
        try {
          done[number] = await put(uploadUrl, part, {}, hooks.signal, (bytes) => {
            tell(bytes - sent);
            sent = bytes;
          });
        } catch (error) {
          if (mayHaveEnded(error, refusals++)) places.delete(number);
          throw error;
        } finally {
          tell(-sent);
        }
        hooks.keep?.();
      }), hooks);
    };
  }

  /** A request for leave to upload.
   *  @param {string} method @param {string} path @param {Hooks} hooks @param {number} [bytes] that count @param {object} [body] */
  async #request(method, path, { signal }, bytes = 0, body) {
    const { until, bytes: most } = this.#limit, retryAfter = (until - Date.now()) / 1000;
    if (retryAfter > 0 && bytes >= most) throw new CloakroomError(429, "too_many_requests", "Too many uploads for now", { retryAfter });
    try {
      return await this.client.request(method, path, body, signal);
    } catch (error) {
      if (Object(error).status === 429) this.#limit = { until: Date.now() + 1000 * (Object(error).retryAfter ?? 1), bytes };
      throw error;
    }
  }

  /** @template T @param {() => Promise<T>} work */
  async #transfer(work) {
    while (this.#transfers >= TRANSFERS) await new Promise((resolve) => this.#waiting.push(resolve));
    this.#transfers += 1;
    try {
      return await work();
    } finally {
      this.#transfers -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Whether a URL ends within half a minute.
   *  @param {{expiresAt: string}} place */
  #isOver(place) { return Date.parse(place.expiresAt) - this.client.now() < 30_000; }
}

/** A URL may have ended: another one is worth a request, twice.
 *  @type {(error: any, refusals: number) => boolean} */
function mayHaveEnded(error, refusals) {
  const may = error.status === 403 || error.code === "s3_ExpiredToken";
  if (may && refusals < 2) error.retryable = true;
  return may;
}
