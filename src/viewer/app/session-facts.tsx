/** The facts of the session: title, agent, project, models, times, cost, and problems of the file. */

import { useEffect, useState } from "preact/hooks";
import type { ModelCost, SessionCost } from "../../providers/cost/index.js";
import { bytesText, costText, countText, durationText, timeText, visibleText } from "../model/text.js";
import { pause, useViewer } from "./hooks.js";
import { ScrolledTable } from "./scrolled-table.js";
import { StartedBy, SubagentList } from "./subagents.js";
import type { ViewerState } from "./viewer-state.js";

const maxListed = 100;

export function SessionFactsView() {
  const state = useViewer();
  const { model } = state;
  const { facts, data } = model;
  const { cost, others } = useCosts(state);
  const { first, last } = facts;
  const when =
    first === undefined || last === undefined ? "" : `${timeText(first)}, ${durationText(last - first)}`;
  const rows: readonly (readonly [string, string])[] = [
    ["Agent", state.data.agent ?? ""],
    ["Project", data.header?.cwd ?? ""],
    [facts.models.length > 1 ? "Models" : "Model", facts.models.join(", ")],
    ["When", when],
    ["Cost", cost === undefined || cost.models.length === 0 ? "" : totalText(cost)],
    ["Messages", messagesText(state)],
    ["Session", data.header?.id ?? "no header"],
    ["Fork of", data.header?.parentSession ?? ""],
  ];
  return (
    <section class="session-facts" aria-label="About the session">
      <h1>
        <bdi>{visibleText(facts.title)}</bdi>
      </h1>
      <StartedBy />
      <dl>
        {rows.map(([name, value]) =>
          value === "" ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <bdi>{visibleText(value)}</bdi>
              </dd>
            </div>
          ),
        )}
      </dl>
      {cost !== undefined && cost.models.length > 0 && <CostTable cost={cost} />}
      <SubagentList costs={others} />
      <Problems state={state} />
      <LeftOut state={state} />
    </section>
  );
}

interface Costs {
  readonly cost: SessionCost | undefined;
  /** US dollars by session, of the subagents. */
  readonly others: ReadonlyMap<string, number>;
}

/** The costs of the session and of its subagents, some time after the first paint. */
function useCosts({ model, models, view }: ViewerState): Costs {
  const [costs, setCosts] = useState<Costs>({ cost: undefined, others: new Map() });
  useEffect(() => {
    let isWanted = true;
    const sum = async () => {
      await pause();
      const cost = await model.cost(pause);
      const others = new Map<string, number>();
      if (isWanted) setCosts({ cost, others });
      if (view.session !== models.main) return;
      for (const key of models.keys.slice(1)) {
        await pause();
        if (!isWanted) return;
        others.set(key, (await models.get(key).cost(pause)).cost.total);
      }
      if (isWanted && others.size > 0) setCosts({ cost, others });
    };
    void sum();
    return () => {
      isWanted = false;
    };
  }, [models.version]);
  return costs;
}

function messagesText({ model }: ViewerState): string {
  const { messages, toolCalls, failures } = model.facts;
  const calls = toolCalls === 0 ? "" : `, ${toolCalls.toLocaleString("en")} tool calls`;
  const failed = failures === 0 ? "" : `, ${failures.toLocaleString("en")} failed`;
  return `${messages.toLocaleString("en")}${calls}${failed}`;
}

function totalText({ cost, unknown }: SessionCost): string {
  const calls = unknown.reduce((sum, { unpriced }) => sum + unpriced, 0);
  if (calls === 0) return costText(cost.total);
  const unpriced = calls === 1 ? "1 call without a price" : `${calls} calls without a price`;
  return cost.total === 0 ? `unknown (${unpriced})` : `at least ${costText(cost.total)} (${unpriced})`;
}

function CostTable({ cost }: { readonly cost: SessionCost }) {
  const { summaries, tools } = cost;
  return (
    <details>
      <summary>Cost by model</summary>
      <ScrolledTable label="Cost by model">
        <table>
          <thead>
            <tr>
              {["Model", "Calls", "Tokens", "Cost"].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {cost.models.map((model) => (
              <ModelLine key={`${model.provider}/${model.model}`} model={model} />
            ))}
          </tbody>
        </table>
      </ScrolledTable>
      <p class="small">
        All branches.
        {summaries.total > 0 && ` ${costText(summaries.total)} of it for summaries.`}
        {tools.total > 0 && ` ${costText(tools.total)} of it for models that tools called.`}
      </p>
    </details>
  );
}

function ModelLine({ model }: { readonly model: ModelCost }) {
  const { provider, model: name, calls, tokens, cost, unpriced } = model;
  return (
    <tr>
      <td>
        <bdi>{visibleText(`${provider}/${name}`)}</bdi>
      </td>
      <td class="right">{calls}</td>
      <td class="right">{countText(tokens)}</td>
      <td class="right">{unpriced === calls ? "no price" : costText(cost.total)}</td>
    </tr>
  );
}

function Problems({ state }: { readonly state: ViewerState }) {
  const { total, listed } = state.model.data.diagnostics;
  if (total === 0) return null;
  return (
    <details class="problems">
      <summary>{total === 1 ? "1 problem" : `${total} problems`} of the stored session</summary>
      <ul>
        {listed.slice(0, maxListed).map(({ code, line, offset, message, entryId }) => (
          <li key={`${code}/${line}/${offset}`}>
            <code>{code}</code> line {line}, offset {offset}: {visibleText(message)}{" "}
            {entryId !== undefined && state.model.tree.has(entryId) && (
              <button type="button" class="link" onClick={() => state.go(entryId)}>
                entry {visibleText(entryId)}
              </button>
            )}
          </li>
        ))}
      </ul>
      {total > Math.min(listed.length, maxListed) && (
        <p class="small">and {total - Math.min(listed.length, maxListed)} more</p>
      )}
    </details>
  );
}

function LeftOut({ state }: { readonly state: ViewerState }) {
  const { leftOut } = state.images;
  if (leftOut.length === 0) return null;
  const bytes = leftOut.reduce((sum, { size }) => sum + size, 0);
  return (
    <details>
      <summary>
        {leftOut.length === 1 ? "1 image is" : `${leftOut.length} images are`} not in this page (
        {bytesText(bytes)})
      </summary>
      <ul>
        {leftOut.slice(0, maxListed).map(({ key, session, name, mediaType, size, reason, entryId }) => (
          <li key={key}>
            {visibleText(name ?? mediaType)}, {bytesText(size)}:{" "}
            {reason === "budget" ? "over the budget of the page" : `${reason} in the store`},{" "}
            <button type="button" class="link" onClick={() => state.go(entryId, { session })}>
              entry {visibleText(entryId)}
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
