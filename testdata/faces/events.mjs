// It follows a run as a stream of events, with the npm package eventsource, which connects again and
// says what it has had. It prints the id of each event, and ends with the run.
import { EventSource } from "eventsource";

const source = new EventSource(process.env.STARLING_URL, {
  fetch: (url, init) =>
    fetch(url, { ...init, headers: { ...init.headers, Authorization: `Bearer ${process.env.STARLING_TOKEN}` } }),
});
const alive = setInterval(() => {}, 1000); // its own wait for the next try keeps no process alive
let connections = 0;
source.addEventListener("open", () => connections++);
source.addEventListener("message", (e) => console.log(e.lastEventId));
source.addEventListener("error", (e) => console.error("error", e.code, e.message));
source.addEventListener("end", () => {
  console.log("end", connections);
  source.close();
  clearInterval(alive);
});
