/** What the JavaScript client makes of answers, whole and broken. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Rummyd, RummydError, isCalled } from "../../../clients/javascript/rummyd.js";

const LOST = new TypeError("fetch failed");
const DONE = { status: 200, body: { version: 2 } };
const MISSING = refusal(404, "NOT_FOUND", "GAME_NOT_FOUND");

function refusal(status, code, reason, more = []) {
  const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "rummyd", metadata: { k: "v" } };
  return { status, body: { error: { code: status, status: code, message: "no", details: [info, ...more] } } };
}

function stream(text, size = text.length) {
  const bytes = new TextEncoder().encode(text);
  const start = (control) => {
    for (let at = 0; at < bytes.length; at += size) control.enqueue(bytes.slice(at, at + size));
    control.close();
  };
  return { status: 200, body: new ReadableStream({ start }) };
}

/** A client whose server gives these answers, one after the other, and what it was asked. */
function answering(...answers) {
  const asked = [];
  const again = [];
  const fetch = async (request) => {
    const { method, url, headers, signal } = request;
    asked.push({ method, url, headers, text: await request.text() });
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    if (answer === "silence") {
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    }
    const { status, body } = answer;
    return new Response(body?.error || body?.version ? JSON.stringify(body) : body, { status });
  };
  const onRetry = (error) => again.push(error);
  const rummyd = new Rummyd("http://rummyd/", { fetch, apiKey: "key", patienceMs: 1000, timeoutMs: 200, onRetry });
  return { rummyd, asked, again };
}

async function read(news) {
  const found = [];
  for await (const item of news) found.push(item);
  return found;
}

for (const [what, answer] of Object.entries({
  "a lost connection": LOST,
  "a silence": "silence",
  "a proxy's page": { status: 502, body: "<html>Bad Gateway</html>" },
  "a proxy's limit": { status: 429, body: "" },
  "a store that is away": refusal(503, "UNAVAILABLE", "STORE_UNAVAILABLE"),
  "a server cut off": refusal(499, "CANCELLED", ""),
  "others who came between": refusal(409, "ABORTED", "CONTENTION"),
  "a limit": refusal(429, "RESOURCE_EXHAUSTED", "LIMIT_EXCEEDED"),
})) {
  test(`after ${what} the same request is sent again, with the same id`, async () => {
    const { rummyd, asked, again } = answering(answer, DONE);
    assert.deepEqual(await rummyd.act({ name: "games/a", actions: [] }, { token: "t" }), DONE.body);
    assert.equal(asked.length, 2);
    assert.equal(again.length, 1);
    assert.equal(asked[0].text, asked[1].text);
    assert.match(JSON.parse(asked[0].text).requestId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.deepEqual([...new Set(asked.map((request) => request.headers.get("authorization")))], ["Bearer t"]);
  });
}

for (const [what, answer, code, reason] of [
  ["another version", refusal(409, "ABORTED", "VERSION_MISMATCH"), "ABORTED", "VERSION_MISMATCH"],
  ["the rules", refusal(400, "FAILED_PRECONDITION", "NOT_YOUR_TURN"), "FAILED_PRECONDITION", "NOT_YOUR_TURN"],
  ["an id used before", refusal(409, "ALREADY_EXISTS", "REQUEST_ID_REUSED"), "ALREADY_EXISTS", "REQUEST_ID_REUSED"],
  ["a fault of the server", refusal(500, "INTERNAL", "INTERNAL"), "INTERNAL", "INTERNAL"],
  ["a page of somebody else", { status: 200, body: "<html>Sign in</html>" }, "UNKNOWN", ""],
  ["a redirection", { status: 302, body: "" }, "UNKNOWN", ""],
]) {
  test(`${what} is a refusal, which is not tried again`, async () => {
    const { rummyd, asked } = answering(answer);
    await assert.rejects(rummyd.act({ name: "games/a" }), (error) => {
      assert.ok(error instanceof RummydError);
      assert.deepEqual([error.code, error.reason], [code, reason]);
      return true;
    });
    assert.equal(asked.length, 1);
  });
}

test("an error tells what the server said, field by field", async () => {
  const fields = [{ field: "name", description: "is no name" }];
  const bad = { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: fields };
  const { rummyd } = answering(refusal(400, "INVALID_ARGUMENT", "INVALID_FIELD", [bad]));
  await assert.rejects(rummyd.getGame({ name: "games/a" }), {
    httpStatus: 400,
    metadata: { k: "v" },
    violations: fields,
    message: "INVALID_FIELD: no",
  });
});

test("who is told when to come again waits so long", async () => {
  const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.300s" };
  const { rummyd } = answering(refusal(429, "RESOURCE_EXHAUSTED", "LIMIT_EXCEEDED", [retry]), DONE);
  const begun = performance.now();
  await rummyd.getGame({ name: "games/a" });
  assert.ok(performance.now() - begun >= 299);
});

test("patience ends, with what was heard last", async () => {
  const { rummyd, asked } = answering(...Array(100).fill(LOST));
  await assert.rejects(rummyd.getGame({ name: "games/a" }), { code: "UNAVAILABLE", reason: "", httpStatus: 0 });
  assert.ok(asked.length >= 2 && asked.length < 30);
});

test("a caller may give up, in a call, in a pause and in a stream", async () => {
  for (const answers of [["silence"], Array(100).fill(LOST)]) {
    for (const watch of [false, true]) {
      const { rummyd } = answering(...answers);
      const signal = AbortSignal.timeout(50);
      const doing = watch
        ? read(rummyd.observe({ name: "games/a" }, { signal }))
        : rummyd.getGame({ name: "games/a" }, { signal });
      await assert.rejects(doing, { name: "TimeoutError" });
    }
  }
});

test("a name stays in its path, and fields go where the API wants them", async () => {
  const { rummyd, asked } = answering(DONE, DONE, DONE);
  await rummyd.act({ name: "games/a?b#c d", requestId: "one" });
  await rummyd.createGame({ game: { seatCount: 2 }, requestId: "two" });
  await rummyd.listEvents({ name: "games/a", after: 3, wait: "20s" });
  assert.deepEqual(
    asked.map(({ method, url, text }) => [method, url, text]),
    [
      ["POST", "http://rummyd/v1/games/a%3Fb%23c%20d:act", '{"requestId":"one"}'],
      ["POST", "http://rummyd/v1/games?requestId=two", '{"seatCount":2}'],
      ["GET", "http://rummyd/v1/games/a/events?after=3&wait=20s", ""],
    ],
  );
  assert.deepEqual(asked.map(({ headers }) => headers.get("x-api-key")), [null, "key", null]);
});

test("events are read wherever the network cuts them, with every character that a name may hold", async () => {
  const wire = [
    'retry: 1000\n\nid: e.2.m\nevent: batch\ndata: {"batch":{"version":2,"name":"A\u2028dä: 🂡"}}\n\n: a comment\n\n',
    'event: heartbeat\ndata: {"heartbeat":{"version":2}}\n\nevent: end\ndata: {}\n\n',
  ].join("");
  for (const size of [1, 7, 1000]) {
    const { rummyd, asked } = answering(stream(wire, size));
    assert.deepEqual(await read(rummyd.observe({ name: "games/a" })), [
      { batch: { version: 2, name: "A\u2028dä: 🂡" }, id: "e.2.m" },
    ]);
    assert.equal(asked[0].headers.get("accept"), "text/event-stream");
  }
});

test("a stream that is lost goes on after the last event, as the same seat, until its end", async () => {
  const drained = JSON.stringify(refusal(503, "UNAVAILABLE", "SERVER_DRAINING").body);
  const { rummyd, asked, again } = answering(
    stream('id: e.1.a\nevent: snapshot\ndata: {"snapshot":{"version":1}}\n\n'),
    LOST,
    stream(`id: e.2.b\nevent: batch\ndata: {"batch":{"version":2}}\n\nevent: failure\ndata: ${drained}\n\n`),
    { status: 204, body: null },
  );
  const news = await read(rummyd.observe({ name: "games/a" }, { token: "t" }));
  assert.deepEqual(news.map(({ id }) => id), ["e.1.a", "e.2.b"]);
  assert.deepEqual(asked.map(({ headers }) => headers.get("last-event-id")), [null, "e.1.a", "e.1.a", "e.2.b"]);
  assert.deepEqual([...new Set(asked.map(({ headers }) => headers.get("authorization")))], ["Bearer t"]);
  assert.deepEqual(again.map(({ reason }) => reason), ["", "", "SERVER_DRAINING"]);
});

test("a stream that is refused is not asked for again, at its beginning or later", async () => {
  const revoked = JSON.stringify(refusal(401, "UNAUTHENTICATED", "TOKEN_INVALID").body);
  for (const answer of [MISSING, stream(`event: failure\ndata: ${revoked}\n\n`)]) {
    const { rummyd, asked } = answering(answer);
    await assert.rejects(read(rummyd.observe({ name: "games/a" })), RummydError);
    assert.equal(asked.length, 1);
  }
});

test("a seat is called by the table that shows its turn, or by the last turn that began", () => {
  const begun = (seat) => ({ turnStarted: { seat } });
  assert.ok(isCalled({ snapshot: { view: { turn: 1 } } }, 1));
  assert.ok(!isCalled({ snapshot: {} }, 0));
  assert.ok(isCalled({ batch: { events: [begun(0), begun(1), { drew: {} }] } }, 1));
  assert.ok(!isCalled({ batch: { events: [begun(1), begun(0)] } }, 1));
});
