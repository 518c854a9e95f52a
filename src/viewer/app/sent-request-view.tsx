/** A context as sent to a provider: the losses, the size, and the body. */

import { useEffect, useState } from "preact/hooks";
import type { Loss } from "../../providers/index.js";
import type { SeenContext } from "../model/seen-context.js";
import {
  modelFor,
  type SentRequest,
  type SentTargetName,
  sentRequest,
  sentTargets,
} from "../model/sent-request.js";
import { bytesText, countText, visibleText } from "../model/text.js";
import { FoldedText } from "./folded-text.js";
import { useViewer } from "./hooks.js";
import { ScrolledTable } from "./scrolled-table.js";
import type { ContextPanel } from "./view-state.js";
import type { ViewerState } from "./viewer-state.js";

interface SentRequestProps {
  readonly seen: SeenContext;
  readonly panel: ContextPanel;
}

export function SentRequestView({ seen, panel }: SentRequestProps) {
  const state = useViewer();
  const provider = seen.context.model?.provider;
  const names = Object.keys(sentTargets) as SentTargetName[];
  const target = panel.target ?? names.find((name) => sentTargets[name].provider === provider) ?? "anthropic";
  const [given, setGiven] = useState<string>();
  const model = given ?? modelFor(target, seen.context.model);
  const request = useRequest(state, seen, target, model);
  return (
    <div class="panel-body">
      <h2>As sent to {sentTargets[target].title}</h2>
      <div class="fields">
        <label>
          Target{" "}
          <select
            value={target}
            onChange={(event) => {
              setGiven(undefined);
              state.set({ panel: { ...panel, target: event.currentTarget.value as SentTargetName } });
            }}
          >
            {names.map((name) => (
              <option key={name} value={name}>
                {sentTargets[name].title}
              </option>
            ))}
          </select>
        </label>
        <label>
          Model <input type="text" value={model} onChange={(event) => setGiven(event.currentTarget.value)} />
        </label>
      </div>
      {request === undefined ? (
        <p>Projecting…</p>
      ) : request instanceof Error ? (
        <p class="error-text">{visibleText(request.message)}</p>
      ) : (
        <Request request={request} panel={panel} state={state} target={target} />
      )}
    </div>
  );
}

function useRequest(
  state: ViewerState,
  seen: SeenContext,
  target: SentTargetName,
  model: string,
): SentRequest | Error | undefined {
  const [made, setMade] = useState<{ readonly key: unknown; readonly request: SentRequest | Error }>();
  const key = `${target} ${model} ${seen.leafId}`;
  useEffect(() => {
    let isWanted = true;
    // After a frame, so that the panel is there first.
    const timer = setTimeout(async () => {
      const request = await sentRequest(seen, target, model, state.images).catch((error: unknown) =>
        error instanceof Error ? error : new Error(String(error)),
      );
      if (isWanted) setMade({ key, request });
    }, 30);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [key]);
  return made?.key === key ? made.request : undefined;
}

interface RequestProps {
  readonly request: SentRequest;
  readonly panel: ContextPanel;
  readonly state: ViewerState;
  readonly target: SentTargetName;
}

function Request({ request, panel, state, target }: RequestProps) {
  const { body, bytes, losses, byPolicy, warnings, usage, prefix, absent } = request;
  const { entryId } = panel;
  return (
    <>
      <p class="small">
        {bytesText(bytes)}, about {countText(usage.total)} tokens
        {usage.imageCount > 0 && `, ${usage.imageCount} images`}.
      </p>
      <p class="small">Prefix: {visibleText(prefix)}</p>
      {warnings.map(({ code, message }) => (
        <p key={code} class="warning">
          Warning: {visibleText(message)}
        </p>
      ))}
      {absent > 0 && (
        <p class="warning">
          {absent} images are not in this page, so that the body and the losses below lack them.
        </p>
      )}
      <Losses title="Losses" empty="Nothing is lost or changed." losses={losses} state={state} />
      {byPolicy.length > 0 && <Losses title="Left out by options" empty="" losses={byPolicy} state={state} />}
      <h3>Body</h3>
      <FoldedText id={`sent/${entryId}/${target}`} rowId={entryId} text={body} kind="json" label="Body" />
    </>
  );
}

const maxLosses = 200;

interface LossesProps {
  readonly title: string;
  readonly empty: string;
  readonly losses: readonly Loss[];
  readonly state: ViewerState;
}

function Losses({ title, empty, losses, state }: LossesProps) {
  return (
    <>
      <h3>
        {title} {losses.length > 0 && `(${losses.length})`}
      </h3>
      {losses.length === 0 ? (
        <p class="small">{empty}</p>
      ) : (
        <ScrolledTable label={title}>
          <table>
            <thead>
              <tr>
                <th scope="col">Loss</th>
                <th scope="col">Reason</th>
                <th scope="col">Entry</th>
              </tr>
            </thead>
            <tbody>
              {losses.slice(0, maxLosses).map(({ code, by, entryId, block, reason, instead }) => (
                <tr key={`${code}/${entryId}/${block}`}>
                  <td>
                    {code} <span class="small">({by})</span>
                  </td>
                  <td>
                    {visibleText(reason)}
                    {instead !== undefined && (
                      <span class="small"> Instead: {visibleText(instead.slice(0, 300))}</span>
                    )}
                  </td>
                  <td>
                    <button type="button" class="link" onClick={() => state.goFromPanel(entryId)}>
                      {visibleText(entryId)}
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {losses.length > maxLosses && <p class="small">and {losses.length - maxLosses} more</p>}
        </ScrolledTable>
      )}
    </>
  );
}
