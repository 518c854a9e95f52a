/** A component that renders again only if its properties changed, or a part of it asks for it. */

import { Component, type ComponentType, type FunctionComponent, h } from "preact";

export function memo<P extends object>(
  view: FunctionComponent<P>,
  isSame: (before: P, after: P) => boolean,
): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      return !isSame(this.props as P, next);
    }
    override render() {
      return h(view as FunctionComponent<object>, this.props);
    }
  } as unknown as ComponentType<P>;
}
