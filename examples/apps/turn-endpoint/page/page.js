// The page of the turn endpoint: plain modules, no framework, no build. All text is shown as text
// (element.js).
import { ConnectionLost, connect, Refused } from "./api.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { byId, clearNotices, foldTree, notify } from "./element.js";
import { Images } from "./images.js";
import { Session } from "./session.js";
import { Tree } from "./tree.js";
import { TurnActions } from "./turn-actions.js";
import { firstWords, reasonInWords } from "./words.js";

/** @import { EntrySummary, ErrorBody, TurnEvent } from "./api.js" */

/** Milliseconds before each retry of a request; the last one repeats. */
const retryAfterMs = [300, 600, 1200, 2500, 5000];

/** Minimum milliseconds between two polls of a turn that another page began, or this one before a reload. */
const watchEveryMs = 600;

// A browser never sends the part behind #: the token leaves this page only in a header.
const api = connect(location.hash.slice(1));
const session = new Session();
const images = new Images(api);
const conversation = new Conversation(api, images, (error) =>
  failed(error, "Earlier messages are not there."),
);
const tree = new Tree(images, (entryId) => void moveTo(entryId));
const composer = new Composer(api, { send, stop, notice: notify });
const actions = new TurnActions({
  edit: (asked) => void edit(asked),
  again: (asked) => void again(asked),
  goTo: (entryId) => void moveTo(endOf(entryId)),
});
const { closeTree } = foldTree();
const state = byId("state", HTMLParagraphElement);
const spoken = byId("spoken", HTMLParagraphElement);

const states = {
  loading: "Loading",
  ready: "Ready",
  running: "Replying",
  lost: "Reconnecting",
  refused: "Not allowed",
};

/** @type {keyof typeof states} */
let now = "loading";
let isDrawn = true;

/** Whether this page reads the events of a turn, which are newer than any earlier response. */
let isFollowing = false;

/** Whether entries may be missing in the tree. */
let isTreeOld = true;

/** Number of changes that this page made to the session: a response to an earlier request is out of date. */
let changes = 0;

/** @param {keyof typeof states} next */
function become(next) {
  // The notice of a lost connection comes and goes with its state.
  if (next !== now && (next === "lost" || now === "lost")) {
    clearNotices();
    if (next === "lost") {
      notify("The connection to the server is lost. What you write stays here; trying again…");
    }
  }
  now = next;
  state.className = `state ${next}`;
  state.textContent = states[next];
  composer.setRunning(next === "running");
  actions.show(session, next === "ready");
}

/** Entries are drawn at most once a frame. */
function draw() {
  if (!isDrawn) return;
  isDrawn = false;
  requestAnimationFrame(() => {
    isDrawn = true;
    conversation.show();
    tree.show(session);
    tree.setBusy(isTreeOld);
    byId("name", HTMLHeadingElement).textContent = session.name || "Sessile";
    showBranchHint();
    actions.show(session, now === "ready");
  });
}

function showBranchHint() {
  const follows = session.children(session.leafId);
  byId("branch-hint", HTMLDivElement).hidden = follows.length === 0 || now === "running";
  const leaf = session.leafId === null ? undefined : session.entry(session.leafId);
  const words = leaf === undefined ? "" : firstWords(leaf.text ?? "", 48);
  byId("branch-words", HTMLElement).textContent =
    leaf === undefined
      ? "The next message starts again from the beginning"
      : `The next message branches off ${words === "" ? "here" : `after “${words}”`}`;
}

/** @returns {Promise<boolean>} whether the server told how things are */
async function restore() {
  try {
    const [begun, changesThen] = [performance.now(), changes];
    const newest = await api.recent();
    if (isFollowing) return true;
    if (changes !== changesThen) return restore();
    session.leafId = newest.leafId;
    session.name = newest.name ?? "";
    conversation.restore(newest);
    conversation.endReply();
    draw();
    if (newest.running) conversation.beginReply();
    become(newest.running ? "running" : "ready");
    // The conversation does not wait for the other branches.
    await restoreTree();
    restoredInMs = performance.now() - begun;
    if (newest.running) void watch();
    return true;
  } catch (error) {
    if (error instanceof ConnectionLost) return false;
    become("refused");
    notify(reasonInWords(error));
    return true;
  }
}

async function restoreTree() {
  const changesThen = changes;
  isTreeOld = true;
  tree.setBusy(true);
  const summary = await api.session();
  if (isFollowing) return;
  // Somebody has chosen an entry meanwhile.
  if (changes !== changesThen) return restoreTree();
  isTreeOld = false;
  session.restore(summary);
  draw();
}

let isWatching = false;
let restoredInMs = 0;

/** Polls a turn whose events go to another page. */
async function watch() {
  if (isWatching) return;
  isWatching = true;
  // Reading a long session takes a while and must not keep the server busy.
  await pause(Math.max(watchEveryMs, 4 * restoredInMs));
  isWatching = false;
  if (now === "running" && !isFollowing && !(await restore())) await reconnect();
}

async function reconnect() {
  if (now === "lost") return;
  for (let attempt = 0; ; attempt++) {
    // The connection can break again between the conversation and the tree.
    become("lost");
    await pause(retryAfterMs[attempt] ?? retryAfterMs.at(-1) ?? 0);
    if (await restore()) return;
  }
}

/**
 * @param {string} text
 * @param {readonly string[]} paths
 * @returns {Promise<boolean>}
 */
async function send(text, paths) {
  return begin(() => api.turn(text, paths), "The message was not sent.");
}

/**
 * Begins a turn and follows it.
 *
 * @param {() => Promise<AsyncGenerator<TurnEvent, void>>} turn
 * @param {string} failure
 * @returns {Promise<boolean>} whether the server took it
 */
async function begin(turn, failure) {
  clearNotices();
  try {
    const events = await turn();
    changes++;
    isFollowing = true;
    become("running");
    conversation.scrollToEnd();
    spoken.textContent = "Sent. The reply is being written.";
    void follow(events);
    return true;
  } catch (error) {
    failed(error, failure);
    return false;
  }
}

/**
 * Writes a message of the user anew, with its files: the next message is another version of it.
 *
 * @param {EntrySummary} asked
 */
async function edit({ parentId, text = "", resources = [] }) {
  await moveTo(parentId);
  if (session.leafId !== parentId) return;
  composer.write(text);
  try {
    const files = resources.map(
      async ({ blob, name = "file", mediaType }) =>
        new File([await api.blob(blob)], name, { type: mediaType }),
    );
    composer.add(await Promise.all(files));
  } catch (error) {
    failed(error, "The files of the message are not there.");
  }
}

/**
 * Asks for another reply to a message of the user.
 *
 * @param {EntrySummary} asked
 */
async function again({ id }) {
  await moveTo(id);
  if (session.leafId !== id) return;
  if (await begin(api.again, "There is no other reply.")) conversation.beginReply();
}

/** @param {AsyncGenerator<TurnEvent, void>} events */
async function follow(events) {
  try {
    for await (const event of events) on(event);
    isFollowing = false;
    become("ready");
    draw();
    // Another page had changed the session.
    if ((!conversation.isWhole || isTreeOld) && !(await restore())) await reconnect();
  } catch (error) {
    isFollowing = false;
    conversation.breakOff();
    if (error instanceof ConnectionLost) await reconnect();
    else failed(error, "The reply could not be read.");
  }
}

/** @param {TurnEvent} event */
function on(event) {
  switch (event.type) {
    case "entry":
      session.add(event.summary);
      conversation.add(event.entry);
      if (event.summary.role === "assistant") {
        conversation.endReply();
        spoken.textContent = event.summary.text ?? "";
      } else {
        conversation.beginReply();
      }
      return draw();
    case "delta":
      return conversation.write(event.text);
    case "warning":
      return notify("Not everything went along with the message:", event.failed);
    case "done":
      session.leafId = event.leafId;
      return conversation.endReply();
    case "error":
      return ended(event.error);
  }
}

/** @param {ErrorBody} error */
function ended(error) {
  conversation.breakOff();
  if (error.code === "ABORTED") spoken.textContent = "Stopped.";
  else notify(`There is no reply. ${reasonInWords(new Error(error.message))}`, error.errors);
}

async function stop() {
  try {
    await api.stop();
  } catch (error) {
    // The turn has ended meanwhile.
    if (error instanceof Refused && error.status === 404) await restore();
    else failed(error, "It could not be stopped.");
  }
}

/** @param {string | null} entryId */
async function moveTo(entryId) {
  if (entryId === session.leafId) return closeTree();
  try {
    await api.moveTo(entryId);
    changes++;
    session.leafId = entryId;
    clearNotices();
    conversation.endReply();
    if (!conversation.moveTo(entryId)) {
      const page = await api.recent();
      if (isFollowing || page.leafId !== session.leafId) return;
      conversation.restore(page);
    }
    conversation.scrollToEnd();
    draw();
    closeTree();
  } catch (error) {
    failed(error, "");
  }
}

/**
 * @param {unknown} error
 * @param {string} what could not be done
 */
function failed(error, what) {
  if (error instanceof ConnectionLost) return void reconnect();
  const details = error instanceof Refused ? error.errors : [];
  notify(`${what} ${reasonInWords(error)}`.trim(), details);
  if (error instanceof Refused && error.code === "TURN_RUNNING" && now === "ready") {
    become("running");
    void watch();
  }
}

byId("branch-end", HTMLButtonElement).addEventListener("click", () => {
  void moveTo(endOf(session.leafId));
  composer.focus();
});

/**
 * The end of the newest branch behind an entry.
 *
 * @param {string | null} id
 */
function endOf(id) {
  let end = id;
  for (let last = session.children(end).at(-1); last !== undefined; last = session.children(end).at(-1))
    end = last;
  return end;
}

// Another page may have changed the session meanwhile.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && now === "ready") void restore();
});
addEventListener("hashchange", () => location.reload());

/** @param {number} milliseconds */
function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds));
}

become("loading");
composer.focus();
if (!(await restore())) await reconnect();
