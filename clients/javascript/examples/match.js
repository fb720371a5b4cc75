/**
 * Plays a match: each seat is a player, who asks for a hint whenever it is his turn, and takes it. A spectator prints
 * what happens. Servers may be killed and started again meanwhile.
 *
 *     node examples/match.js [http://127.0.0.1:8080 [PRESET [SEATS]]]
 */

import { Rummyd, isCalled } from "../rummyd.js";

const [url = "http://127.0.0.1:8080", preset = "basic", seats = "2"] = process.argv.slice(2);
const rummyd = new Rummyd(url, { onRetry: (error) => console.log(`again, after ${error.message}`) });

/** Plays one seat until the match ends. */
async function play(name, seat, token) {
  for await (const news of rummyd.observe({ name }, { token })) {
    if (!isCalled(news, seat)) continue;
    let { view } = await rummyd.getGame({ name }, { token });
    while (view.options) {
      const hint = await rummyd.suggestAction({ name }, { token });
      try {
        const request = { name, actions: [hint.action], expectedVersion: hint.version };
        ({ view } = await rummyd.act(request, { token }));
      } catch (error) {
        if (error.reason !== "VERSION_MISMATCH") throw error;
        ({ view } = await rummyd.getGame({ name }, { token })); // the table has moved on: look again
      }
    }
  }
}

/** Prints each version of a table until the match ends. */
async function watch(name) {
  for await (const { snapshot, batch } of rummyd.observe({ name })) {
    if (snapshot) console.log(`${snapshot.version} snapshot`);
    else console.log(`${batch.version} ${batch.events.map((event) => JSON.stringify(event)).join(" ")}`);
  }
}

const { name } = await rummyd.createGame({ game: { seatCount: Number(seats), ruleSet: { preset } } });
console.log(name);
const watching = watch(name);
const playing = [];
for (let place = 0; place < Number(seats); place++) {
  const { seat, token } = await rummyd.joinGame({ name, displayName: `Player ${place + 1}` });
  playing.push(play(name, seat, token));
}
await Promise.all([watching, ...playing]);
const { view } = await rummyd.getGame({ name });
console.log(`winners: ${view.result.winners} scores: ${view.result.scores}`);
