/** A component that renders again only if its properties changed, and that contains its errors. */

import { Component, type ComponentType, type FunctionComponent, h } from "preact";

/**
 * Makes a component that compares its properties first. An error inside is shown in its place, so that one
 * odd entry does not take the page with it.
 */
export function memo<P extends object>(
  view: FunctionComponent<P>,
  isSame: (before: P, after: P) => boolean,
): ComponentType<P> {
  return class extends Component<P, { readonly failure?: unknown }> {
    static override getDerivedStateFromError(failure: unknown) {
      return { failure };
    }
    override shouldComponentUpdate(next: P, state: { readonly failure?: unknown }): boolean {
      return state !== this.state || !isSame(this.props as P, next);
    }
    override render() {
      const { failure } = this.state;
      if (failure === undefined) return h(view as FunctionComponent<object>, this.props);
      return h("p", { class: "error-text" }, `This part cannot be shown: ${failure}`);
    }
  } as unknown as ComponentType<P>;
}
