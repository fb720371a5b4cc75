/**
 * A client of rummyd, for node 18 and newer and for browsers: no dependencies, one file.
 *
 *     const rummyd = new Rummyd("http://127.0.0.1:8080");
 *     const { name } = await rummyd.createGame({ game: { seatCount: 2 } });
 *     const { seat, token } = await rummyd.joinGame({ name, displayName: "Ada" });
 *     for await (const { snapshot, batch } of rummyd.observe({ name }, { token })) { … }
 *
 * A request and its answer are the messages of the API as JSON, as `/docs` on a server describes them: the fields of
 * path, query and body in one object. Each call makes its own request id and is sent again by the rule in docs/api.md,
 * "Retries". What is refused rejects with a `RummydError`.
 */

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
/** A server that is alive sends a heartbeat every 15 seconds, if RUMMYD_HEARTBEAT_SECONDS does not say otherwise. */
const SILENCE_MS = 40_000;
const AGAIN = new Set(["UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "ABORTED"]);

/** Every browser has it, and node from 19 on. */
const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto;

/** A call that failed. What failed is best told by `reason`, one of the table in docs/api.md, "Errors". */
export class RummydError extends Error {
  /**
   * @param {object} told
   * @param {string} told.code a name of google.rpc.Code, such as `NOT_FOUND`
   * @param {string} told.message a sentence for a developer
   * @param {string} [told.reason] such as `NOT_YOUR_TURN`; empty where it is not rummyd that answered, or nobody did
   * @param {Object<string, string>} [told.metadata] what the reason comes with, such as `clause`
   * @param {{field: string, description: string}[]} [told.violations] every bad field of the request
   * @param {number} [told.httpStatus] 0 where nobody answered
   * @param {number} [told.retryAfterMs] how long the server wants to be left alone
   */
  constructor({ code, message, reason = "", metadata = {}, violations = [], httpStatus = 0, retryAfterMs = 0 }) {
    super(`${reason || code}: ${message}`);
    this.name = "RummydError";
    Object.assign(this, { code, reason, metadata, violations, httpStatus, retryAfterMs });
  }

  /** Whether the same request, with the same request id, may do better. */
  get worthARetry() {
    if (this.code === "RESOURCE_EXHAUSTED") return this.reason === "LIMIT_EXCEEDED";
    return AGAIN.has(this.code) && this.reason !== "VERSION_MISMATCH";
  }
}

/**
 * Every call of the API. Each takes its request, and `{ token, signal }`: the token of a seat, without which the caller
 * is a spectator, and an AbortSignal by which to give up.
 */
export class Rummyd {
  #url;
  #apiKey;
  #patienceMs;
  #timeoutMs;
  #fetch;
  #onRetry;

  /**
   * @param {string} url where REST is served, such as `https://rummy.example`
   * @param {object} [options]
   * @param {string} [options.apiKey] for creating tables, where the server wants one
   * @param {number} [options.patienceMs] how long after its first failure a call is given up
   * @param {number} [options.timeoutMs] how long a call may take before it counts as failed
   * @param {(error: RummydError) => void} [options.onRetry] hears of each failure that is met by another try
   * @param {typeof fetch} [options.fetch] what speaks HTTP
   */
  constructor(
    url,
    { apiKey = "", patienceMs = 60_000, timeoutMs = 10_000, onRetry = () => {}, fetch = globalThis.fetch } = {},
  ) {
    this.#url = url.replace(/\/+$/, "");
    this.#apiKey = apiKey;
    this.#timeoutMs = timeoutMs;
    this.#patienceMs = patienceMs;
    this.#onRetry = onRetry;
    this.#fetch = fetch.bind(globalThis);
  }

  // Tables

  createGame({ game, requestId = uuid() }, options) {
    return this.#call("POST", "games", { body: game, query: { requestId }, keyed: true }, options);
  }
  getGame({ name }, options) {
    return this.#call("GET", name, {}, options);
  }
  findGame(query, options) {
    return this.#call("GET", "games:find", { query }, options);
  }
  listGames(query = {}, options) {
    return this.#call("GET", "games", { query }, options);
  }
  joinGame({ name, ...body }, options) {
    return this.#call("POST", `${name}:join`, { body: identified(body) }, options);
  }
  quickJoin(body, options) {
    return this.#call("POST", "games:quickJoin", { body: identified(body), keyed: true }, options);
  }
  addBot({ name, ...body }, options) {
    return this.#call("POST", `${name}:addBot`, { body: identified(body) }, options);
  }
  startGame({ name, ...body }, options) {
    return this.#call("POST", `${name}:start`, { body: identified(body) }, options);
  }
  resumeSeat({ name, ...body }, options) {
    return this.#call("POST", `${name}:resumeSeat`, { body: identified(body) }, options);
  }
  leaveGame({ name, ...body }, options) {
    return this.#call("POST", `${name}:leave`, { body: identified(body) }, options);
  }
  rematch({ name, ...body }, options) {
    return this.#call("POST", `${name}:rematch`, { body: identified(body) }, options);
  }

  // Playing

  act({ name, ...body }, options) {
    return this.#call("POST", `${name}:act`, { body: identified(body) }, options);
  }
  listLegalActions({ name, ...query }, options) {
    return this.#call("GET", `${name}:legalActions`, { query }, options);
  }
  suggestAction({ name }, options) {
    return this.#call("GET", `${name}:suggestedAction`, {}, options);
  }
  getReplay({ name }, options) {
    return this.#call("GET", `${name}/replay`, {}, options);
  }
  listEvents({ name, ...query }, options) {
    const waitMs = 1000 * parseFloat(query.wait ?? "0");
    return this.#call("GET", `${name}/events`, { query, waitMs }, options);
  }

  // Rules

  listRuleSets(query = {}, options) {
    return this.#call("GET", "ruleSets", { query }, options);
  }
  getRuleSet({ name }, options) {
    return this.#call("GET", name, {}, options);
  }
  checkRuleSet(body, options) {
    return this.#call("POST", "ruleSets:check", { body }, options);
  }

  /**
   * Watches a table until its match is over: `{ snapshot, id }`, the table, or `{ batch, id }`, the events of the next
   * version. A stream that is lost is taken up where it was, so that no version is missing and none comes twice; a
   * snapshot comes again where the versions between are no longer kept. `lastId`, an `id` of before, goes on after it.
   */
  async *observe({ name, lastId = "" }, { token = "", signal } = {}) {
    let pauses = this.#pauses();
    for (;;) {
      try {
        for await (const message of this.#stream(name, token, lastId, signal)) {
          pauses = this.#pauses();
          lastId = message.id || lastId;
          if (!message.heartbeat) yield message;
        }
        return;
      } catch (error) {
        await pauses.after(error, signal);
      }
    }
  }

  /** The messages of one stream. */
  async *#stream(name, token, lastId, signal) {
    const line = new Line(signal, SILENCE_MS);
    try {
      const headers = { accept: "text/event-stream", ...(lastId && { "last-event-id": lastId }) };
      const response = await this.#send(line, this.#request("GET", `${name}:observe`, { headers, token }, line));
      if (response.status === 204) return;
      for await (const { event, data, id } of eventsOf(response.body, line)) {
        if (event === "end") return;
        if (event === "failure") throw errorOf(response.status, data);
        yield { ...JSON.parse(data), id };
      }
      throw new RummydError({ code: "UNAVAILABLE", message: "the stream broke off" });
    } finally {
      line.hangUp();
    }
  }

  async #call(verb, path, { query, body, keyed, waitMs = 0 }, { token = "", signal } = {}) {
    const headers = { ...(keyed && this.#apiKey && { "x-api-key": this.#apiKey }) };
    const pauses = this.#pauses();
    for (;;) {
      const line = new Line(signal, this.#timeoutMs + waitMs);
      const request = this.#request(verb, path, { query, body, headers, token }, line);
      try {
        const response = await this.#send(line, request);
        return readJson(response.status, await line.hear(response.text()));
      } catch (error) {
        await pauses.after(error, signal);
      } finally {
        line.hangUp();
      }
    }
  }

  #request(verb, path, { query = {}, body, headers, token }, line) {
    const url = new URL(`${this.#url}/v1/${encodeURI(path).replace(/[?#]/g, encodeURIComponent)}`);
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    return new Request(url, {
      method: verb,
      headers: {
        ...headers,
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body && { "content-type": "application/json" }),
      },
      body: body && JSON.stringify(body),
      redirect: "manual",
      signal: line.signal,
    });
  }

  /** The response, once its head is there. Throws RummydError where it is a refusal. */
  async #send(line, request) {
    const response = await line.hear(this.#fetch(request));
    if (!response.ok) throw errorOf(response.status, await line.hear(response.text()));
    return response;
  }

  #pauses() {
    return new Pauses(this.#patienceMs, this.#onRetry);
  }
}

/** Whether what a stream told makes it the seat's turn: then its `getGame` has `view.options`. */
export function isCalled({ snapshot, batch }, seat) {
  if (snapshot) return snapshot.view?.turn === seat;
  return batch.events.filter((event) => event.turnStarted).at(-1)?.turnStarted.seat === seat;
}

/** The time between tries: longer and longer, of which a part is random, until patience ends. */
class Pauses {
  #patienceMs;
  #deadline = 0;
  #longestMs = FIRST_PAUSE_MS;
  #onRetry;

  constructor(patienceMs, onRetry) {
    this.#patienceMs = patienceMs;
    this.#onRetry = onRetry;
  }

  /** Waits for the next try, as long as the server asks for. Throws the error where there is none. */
  async after(error, signal) {
    this.#deadline ||= Date.now() + this.#patienceMs;
    if (!error?.worthARetry || Date.now() >= this.#deadline) throw error;
    this.#onRetry(error);
    const pauseMs = this.#longestMs * (0.5 + Math.random() / 2);
    this.#longestMs = Math.min(2 * this.#longestMs, LONGEST_PAUSE_MS);
    await sleep(Math.max(pauseMs, error.retryAfterMs), signal);
  }
}

/** What one request is given up by: its caller's signal, or a silence of so long. */
class Line {
  #control = new AbortController();
  #caller;
  #silenceMs;
  #timer;
  #giveUp = () => this.#control.abort();

  constructor(caller, silenceMs) {
    caller?.throwIfAborted();
    this.#caller = caller;
    this.#silenceMs = silenceMs;
    caller?.addEventListener("abort", this.#giveUp, { once: true });
    this.#listen();
  }

  get signal() {
    return this.#control.signal;
  }

  /** What the other end says next; then the silence begins anew. Throws RummydError, or the caller's reason to end. */
  async hear(saying) {
    try {
      const said = await saying;
      this.#listen();
      return said;
    } catch (error) {
      this.#caller?.throwIfAborted();
      if (this.signal.aborted) throw new RummydError({ code: "DEADLINE_EXCEEDED", message: "no answer in time" });
      throw new RummydError({ code: "UNAVAILABLE", message: error.cause?.message || error.message });
    }
  }

  hangUp() {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#giveUp);
    this.#giveUp();
  }

  #listen() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#giveUp, this.#silenceMs);
  }
}

/** The error in an answer; what a proxy made up in its place, for a server that is gone, counts as UNAVAILABLE. */
function errorOf(httpStatus, text) {
  try {
    const { status, message, details } = JSON.parse(text).error;
    const told = Object.fromEntries(details.map((detail) => [detail["@type"].split(".").at(-1), detail]));
    return new RummydError({
      code: status,
      message,
      httpStatus,
      reason: told.ErrorInfo.reason,
      metadata: told.ErrorInfo.metadata,
      violations: told.BadRequest?.fieldViolations,
      retryAfterMs: 1000 * parseFloat(told.RetryInfo?.retryDelay ?? "0"),
    });
  } catch {
    const gone = httpStatus >= 500 || httpStatus === 408 || httpStatus === 429;
    return new RummydError({ code: gone ? "UNAVAILABLE" : "UNKNOWN", message: `HTTP status ${httpStatus}`, httpStatus });
  }
}

function readJson(httpStatus, text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new RummydError({ code: "UNKNOWN", message: "the answer is none of rummyd's", httpStatus });
  }
}

/** The server-sent events of a body: each block of lines `field: value`, up to an empty line. */
async function* eventsOf(body, line) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await line.hear(reader.read());
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((text) => text.split(/: ?(.*)/s, 2)));
      if (fields.data) yield fields;
    }
  }
}

function identified(body) {
  return { ...body, requestId: body.requestId ?? uuid() };
}

/** A random UUID: a browser has `crypto.randomUUID` on pages of https only. */
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function sleep(ms, signal) {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", giveUp);
      resolve();
    }, ms);
    signal?.addEventListener("abort", giveUp, { once: true });
  });
}
