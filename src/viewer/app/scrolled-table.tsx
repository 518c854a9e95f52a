/** A table that scrolls sideways if it is wide. The keyboard reaches it, so that it can scroll. */

import type { ComponentChildren } from "preact";

interface ScrolledTableProps {
  readonly label: string;
  readonly children: ComponentChildren;
}

export function ScrolledTable({ label, children }: ScrolledTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: browsers without focus for scrollers need it
    <section class="table" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
