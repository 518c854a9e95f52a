/** One thing that a provider asks of a request, and how a request breaks it. Written from the provider's documentation. */
export interface ProviderRule<Body> {
  /** Short and unique within the provider, such as `results-follow-calls`. */
  readonly id: string;
  /** Where the provider says so, or where its refusal was seen. */
  readonly source: string;
  /** The places that break the rule, each as a path and what is wrong there; none where the request keeps it. */
  readonly check: (body: Body) => readonly Fault[];
}

/** A place in a request, such as `messages.3.content.1`, and what is wrong there. */
export interface Fault {
  readonly path: string;
  readonly problem: string;
}

/** A rule that a request breaks. */
export interface Breach extends Fault {
  readonly rule: string;
}

/** Every breach of every rule, in the order of the rules. */
export function breaches<Body>(body: Body, rules: readonly ProviderRule<Body>[]): readonly Breach[] {
  return rules.flatMap(({ id, check }) => check(body).map((fault) => ({ rule: id, ...fault })));
}
