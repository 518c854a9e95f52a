import { blockResource, type Context, type ReplayDecision, type TextBlock } from "sessile";

/**
 * What of each place of a resource is sent by the default policy, as the rule words it: everything is looked for anew in
 * the whole context at each place.
 */
export function naiveDecisions(
  context: Context,
  missing: readonly string[],
): readonly { readonly item: number; readonly block: number; readonly decision: ReplayDecision }[] {
  const places = context.items.flatMap(({ message }, item) => {
    const content: readonly unknown[] =
      "content" in message && typeof message.content !== "string" ? message.content : [];
    return content.flatMap((piece, block) => {
      const resource = blockResource(piece as TextBlock);
      return resource === undefined ? [] : [{ item, block, resource }];
    });
  });
  const roles = context.items.map(({ message }) => message.role);
  let start = Math.max(0, roles.lastIndexOf("user"));
  while (start > 0 && roles[start - 1] === "user" && roles.includes("user")) start--;
  const asked = context.views.filter(({ item }) => item >= start).map(({ resourceId }) => resourceId);
  const inTurn = (id: string) =>
    places.filter(({ item, resource }) => item >= start && resource.resourceId === id);
  return places.map((place) => {
    const { item, block, resource } = place;
    const id = resource.resourceId;
    const ofTurn = inTurn(id);
    const all = places.filter((other) => other.resource.resourceId === id);
    const chosen = ofTurn.length > 0 ? ofTurn[0] : asked.includes(id) ? all.at(-1) : undefined;
    const isSendable = resource.kind !== "link" && resource.mediaType !== "application/octet-stream";
    const isThere = resource.kind !== "link" && !missing.includes(resource.blob);
    const decision = chosen === place && isSendable && isThere ? "full" : "describe";
    return { item, block, decision };
  });
}
