/**
 * A table in a page: sits down with bots, shows what the seat sees, and plays by clicking.
 *
 * It keeps no game of its own: whatever happens, it takes the view that the server has for the seat and draws it, and
 * what may be clicked is what the view's `options` say.
 */

import { Rummyd, isCalled } from "../rummyd.js";

const BOTS = ["Bella", "Cleo", "Dora", "Emil", "Finn", "Greta", "Hugo"];
const SUITS = { C: ["♣", "clubs"], D: ["♦", "diamonds"], H: ["♥", "hearts"], S: ["♠", "spades"] };
const at = (id) => document.getElementById(id);

let rummyd; // the server, once it is known
let me; // { name, seat, token }: the seat that plays
let game; // as the seat saw it last
let chosen = []; // places in the hand, in the order of the clicks
let hinted; // the meld that a hint is about
let leaving; // ends what follows the table

// The lobby

const lobby = at("lobby");
const server = new URLSearchParams(location.search).get("server");
lobby.server.value = server ?? `http://${location.hostname || "127.0.0.1"}:8080`;
lobby.server.addEventListener("change", listRules);
lobby.rules.addEventListener("change", () => {
  lobby.bots.max = lobby.rules.selectedOptions[0].dataset.most - 1;
  lobby.bots.value = Math.min(lobby.bots.value, lobby.bots.max);
});
lobby.addEventListener("submit", async (event) => {
  event.preventDefault();
  await trying(async () => {
    const seatCount = Number(lobby.bots.value) + 1;
    const ruleSet = { preset: lobby.rules.value };
    const { name } = await rummyd.createGame({ game: { seatCount, ruleSet } });
    const joined = await rummyd.joinGame({ name, displayName: lobby.player.value });
    for (const displayName of BOTS.slice(0, lobby.bots.value)) {
      await rummyd.addBot({ name, displayName }, joined);
    }
    sit({ name, seat: joined.seat, token: joined.token });
  });
});

function connect(url) {
  rummyd = new Rummyd(url, { onRetry: (error) => say(`Trying again: ${error.message}`) });
}

async function listRules() {
  connect(lobby.server.value);
  lobby.rules.replaceChildren();
  await trying(async () => {
    const { ruleSets } = await rummyd.listRuleSets();
    lobby.rules.replaceChildren(
      ...ruleSets.map(({ preset, displayName, seats }) => {
        const option = new Option(displayName, preset);
        option.dataset.most = seats.most;
        return option;
      }),
    );
    lobby.rules.dispatchEvent(new Event("change"));
  });
}

function meet() {
  sessionStorage.removeItem("seat");
  [lobby.hidden, at("table").hidden, at("leave").hidden] = [false, true, true];
  listRules();
}

// The table

/** Takes a seat, which a reload of the page comes back to, and follows the table until the match is over. */
async function sit(seat) {
  leaving?.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  [me, game, chosen] = [seat, undefined, []];
  sessionStorage.setItem("seat", JSON.stringify({ ...me, server: lobby.server.value }));
  [lobby.hidden, at("table").hidden, at("leave").hidden] = [true, false, false];
  at("log").replaceChildren();
  tell("");
  try {
    for await (const news of rummyd.observe({ name: me.name }, { token: me.token, signal })) {
      const { view } = await look(signal);
      news.batch?.events.forEach(log);
      if (isCalled(news, me.seat) && view.options) tell("It is your turn.");
    }
  } catch (error) {
    if (signal.aborted) return;
    tell(error.message);
    if (["GAME_NOT_FOUND", "TOKEN_INVALID"].includes(error.reason)) meet();
  }
}

async function look(signal) {
  show(await rummyd.getGame({ name: me.name }, { token: me.token, signal }));
  return game;
}

/** Plays one action. Where the cards can be read in two ways, it asks which. */
async function act(action) {
  await trying(
    async () => {
      const request = { name: me.name, actions: [action], expectedVersion: game.version };
      const { view } = await rummyd.act(request, { token: me.token });
      chosen = [];
      tell("");
      show({ ...game, version: view.version, view });
    },
    async (error) => {
      if (error.reason === "AMBIGUOUS_PLACE") offer(action);
      if (error.reason === "VERSION_MISMATCH") await look();
    },
  );
}

function offer(action) {
  const readings = action.layDown
    ? [["As a set", { layDown: { ...action.layDown, kind: "MELD_KIND_SET" } }],
       ["As a run", { layDown: { ...action.layDown, kind: "MELD_KIND_RUN" } }]]
    : [["At the low end", { layOff: { ...action.layOff, end: "END_LOW" } }],
       ["At the high end", { layOff: { ...action.layOff, end: "END_HIGH" } }]];
  at("choices").replaceChildren(...readings.map(([text, reading]) => button(text, () => act(reading))));
}

at("stock").onclick = () => act({ draw: {} });
at("lay").onclick = () => act({ layDown: { cards: cardsChosen() } });
at("discard").onclick = () => act({ discard: { card: cardsChosen()[0] } });
at("pass").onclick = () => act({ passTurn: {} });
at("hint").onclick = () =>
  trying(async () => {
    const { action } = await rummyd.suggestAction({ name: me.name }, { token: me.token });
    choose(cardsOf(action));
    hinted = (action.layOff ?? action.swapJoker)?.meld;
    show(game);
    tell(`Hint: ${described(action)}.`);
  });
at("again").onclick = () =>
  trying(async () => {
    const joined = await rummyd.rematch({ name: me.name }, { token: me.token });
    sit({ name: joined.game.name, seat: joined.seat, token: joined.token });
  });
at("leave").onclick = () =>
  trying(async () => {
    leaving.abort();
    if (game?.state === "STATE_PLAYING") await rummyd.leaveGame({ name: me.name }, { token: me.token });
    meet();
  });

/** Lays the chosen cards off on a meld, or swaps its joker for the one that is chosen. */
function layOff(meld) {
  const cards = cardsChosen();
  const fits = ({ meld: place, card }) => place === meld && card === cards[0];
  const { layOff, swapJoker } = game.view.options;
  const swaps = cards.length === 1 && swapJoker.some(fits);
  if (swaps && !layOff.some(fits)) return act({ swapJoker: { meld, card: cards[0] } });
  return act({ layOff: { meld, cards } });
}

// Drawing

function show(now) {
  if (now.version < game?.version) return; // an answer that was overtaken
  if (now.version !== game?.version) hinted = undefined;
  const hand = (table) => table?.view?.hand.join();
  if (hand(now) !== hand(game)) chosen = [];
  game = now;
  at("choices").replaceChildren();
  const { view } = game;
  say(view ? `${game.ruleSet.displayName}, deal ${view.deal}, round ${view.round}` : "Waiting …");
  if (!view) return;
  at("seats").replaceChildren(...view.seats.map(seatOf));
  const { options } = view;
  at("stock").textContent = view.stockSize;
  at("stock").disabled = !options?.draw;
  at("pile").replaceChildren(...view.pile.map((card, place) => pileCard(card, view.pile.length - place)));
  at("melds").replaceChildren(...view.melds.map((meld, place) => meldOf(meld, place)));
  at("hand").replaceChildren(...view.hand.map(handCard));
  const cards = cardsChosen();
  at("lay").disabled = !options?.layDown || !cards.length;
  at("discard").disabled = cards.length !== 1 || !options?.discard.includes(cards[0]);
  at("pass").disabled = !options?.passTurn;
  at("hint").disabled = !options;
  at("again").hidden = !view.result;
  if (view.result) tell(`${view.result.winners.map(nameOf).join(" and ")} won the match.`);
  else if (view.owedCard) tell(`The ${spoken(view.owedCard)} that you took has to be used first.`);
}

function seatOf({ cardCount, score, out, voided }, seat) {
  const item = element("li", seat === game.view.turn ? "turn" : "");
  const about = out ? "out" : voided ? "void" : `${cardCount} cards`;
  item.append(element("strong", "", nameOf(seat)), element("span", "", `${about} · ${score} points`));
  return item;
}

function pileCard(card, count) {
  return cardOf(card, game.view.options?.take.includes(count) && (() => act({ take: { count } })));
}

function meldOf({ cards }, place) {
  const { options } = game.view;
  const open = options && chosen.length && (options.layOff.length || options.layOffSeveral || options.swapJoker.length);
  const meld = element("div", place === hinted ? "cards hinted" : "cards");
  meld.append(...cards.map((card) => cardOf(card, open && (() => layOff(place)))));
  return meld;
}

function handCard(card, place) {
  const shown = cardOf(card, () => {
    chosen = chosen.includes(place) ? chosen.filter((other) => other !== place) : [...chosen, place];
    show(game);
  });
  shown.setAttribute("aria-pressed", chosen.includes(place));
  return shown;
}

function cardOf(card, onclick) {
  const shown = element("button", `card ${"DH".includes(card[1]) ? "red" : ""}`, printed(card));
  shown.setAttribute("aria-label", spoken(card));
  shown.disabled = !onclick;
  shown.onclick = onclick || null;
  return shown;
}

function cardsChosen() {
  return chosen.map((place) => game.view.hand[place]);
}

/** Chooses such cards of the hand. */
function choose(cards) {
  chosen = [];
  for (const card of cards) {
    chosen.push(game.view.hand.findIndex((held, place) => held === card && !chosen.includes(place)));
  }
}

// Words

const printed = (card) => (card === "JK" ? "★" : `${rank(card)}\n${SUITS[card[1]][0]}`);
const spoken = (card) => (card === "JK" ? "joker" : `${rank(card)} of ${SUITS[card[1]][1]}`);
const short = (cards) => cards.map((card) => (card === "JK" ? "★" : rank(card) + SUITS[card[1]][0])).join(" ");
const rank = (card) => card[0].replace("T", "10");
const nameOf = (seat) => (seat === me.seat ? "You" : game.seats[seat].displayName);
const cardsOf = ({ layDown, layOff, swapJoker, discard }) =>
  layDown?.cards ?? layOff?.cards ?? [swapJoker ?? discard].flatMap((one) => one?.card ?? []);

function described(action) {
  if (action.draw) return "draw from the stock";
  if (action.take) return `take ${action.take.count} from the pile`;
  if (action.layDown) return "lay these down";
  if (action.layOff) return "click the meld in the frame, to lay these off there";
  if (action.swapJoker) return "click the meld in the frame, to swap its joker";
  return action.discard ? "discard this card" : "pass";
}

const EVENTS = {
  dealStarted: ({ deal }) => `Deal ${deal} begins`,
  drew: ({ seat, count, cards }) => `${nameOf(seat)}: drew ${short(cards) || (count > 1 ? `${count} cards` : "a card")}`,
  stockRenewed: () => "The pile is the new stock",
  tookPile: ({ seat, cards }) => `${nameOf(seat)}: took ${short(cards)}`,
  laidDown: ({ seat, cards }) => `${nameOf(seat)}: laid down ${short(cards)}`,
  laidOff: ({ seat, low, high }) => `${nameOf(seat)}: laid off ${short([...low, ...high])}`,
  jokerSwapped: ({ seat, card }) => `${nameOf(seat)}: took a joker for ${short([card])}`,
  discarded: ({ seat, card }) => `${nameOf(seat)}: discarded ${short([card])}`,
  passed: ({ seat }) => `${nameOf(seat)}: passed`,
  handVoided: ({ seat }) => `${nameOf(seat)}: a foul; the hand is void`,
  seatOut: ({ seat }) => `${nameOf(seat)}: out!`,
  dealEnded: ({ deal, dealScores }) =>
    `Deal ${deal} ends: ${dealScores.map((score, seat) => `${nameOf(seat)} ${score}`).join(", ")}`,
};

function log(event) {
  const [[kind, about]] = Object.entries(event);
  if (!EVENTS[kind]) return;
  at("log").append(element("li", "", EVENTS[kind](about)));
  at("log").scrollTop = at("log").scrollHeight;
}

const say = (text) => (at("status").textContent = text);
const tell = (text) => (at("message").textContent = text);

function element(tag, className, text = "") {
  return Object.assign(document.createElement(tag), { className, textContent: text });
}

function button(text, onclick) {
  return Object.assign(element("button", "", text), { onclick });
}

/** Does something that may be refused, one thing at a time, and tells why it was. */
async function trying(something, orElse = async () => {}) {
  if (trying.busy) return;
  trying.busy = true;
  try {
    await something();
  } catch (error) {
    await orElse(error);
    (at("table").hidden ? say : tell)(error.message);
  } finally {
    trying.busy = false;
  }
}

const kept = JSON.parse(sessionStorage.getItem("seat") ?? "null");
if (kept) {
  lobby.server.value = kept.server;
  connect(kept.server);
  sit({ name: kept.name, seat: kept.seat, token: kept.token });
} else {
  meet();
}
