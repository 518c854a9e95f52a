/** Links between a session and those of its subagents: at the call, in the list of all, and back. */

import { costText, visibleText } from "../model/text.js";
import { useAfterPaint, useChanges, useViewer } from "./hooks.js";

/** The subagents that a tool call started, each with a link to its conversation. */
export function StartedSubagents({ toolCallId }: { readonly toolCallId: string }) {
  const state = useViewer();
  // The session of a subagent may come later than the call.
  useChanges(state);
  return (
    <>
      {state.models.startedBy(state.model, toolCallId).map(({ id, key }) =>
        key === undefined ? (
          <p key={id} class="small">
            It started the subagent {visibleText(id)}, whose session is not in this page.
          </p>
        ) : (
          <p key={id} class="subagent">
            <SubagentLink session={key} />
          </p>
        ),
      )}
    </>
  );
}

/** The way to the conversation of a subagent. Its entries are read after the first paint. */
function SubagentLink({ session }: { readonly session: string }) {
  const state = useViewer();
  const isReady = useAfterPaint();
  useChanges(state);
  return (
    <button type="button" class="link" onClick={() => state.goSession(session)}>
      Subagent: <bdi>{isReady ? state.models.get(session).facts.title : visibleText(session)}</bdi>
      {isReady && countText(state.models.get(session).facts.messages)}
    </button>
  );
}

function countText(messages: number): string {
  return messages === 1 ? " (1 message)" : ` (${messages.toLocaleString("en")} messages)`;
}

interface SubagentListProps {
  /** US dollars by session; those without a price are missing. */
  readonly costs: ReadonlyMap<string, number>;
}

/** All subagents of the page. */
export function SubagentList({ costs }: SubagentListProps) {
  const state = useViewer();
  const { models, view } = state;
  const [main, ...keys] = models.keys;
  if (view.session !== main || keys.length === 0) return null;
  const spent = keys.reduce((sum, key) => sum + (costs.get(key) ?? 0), 0);
  return (
    <details>
      <summary>
        {keys.length === 1 ? "1 subagent" : `${keys.length} subagents`}
        {spent > 0 && `, ${costText(spent)} beside the cost above`}
      </summary>
      <ul>
        {keys.map((key) => (
          <li key={key}>
            <SubagentLink session={key} />
            {(costs.get(key) ?? 0) > 0 && <span class="small"> {costText(costs.get(key) ?? 0)}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The way back from a subagent's conversation. */
export function StartedBy() {
  const state = useViewer();
  const start = state.models.startByKey(state.view.session);
  if (start === undefined) return null;
  return (
    <p class="subagent">
      Subagent of{" "}
      <button type="button" class="link" onClick={() => state.goStart()}>
        <bdi>{state.models.get(start.session).facts.title}</bdi>
      </button>
    </p>
  );
}
