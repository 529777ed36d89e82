/** A part of the page that only some news concern. */

import { Component, type ComponentChildren } from "preact";

interface Props {
  /** What it follows: it is drawn again when one of these is another. */
  by: readonly unknown[];
  children: ComponentChildren;
}

/** An element in a memo would do the same, but would hold the whole page as it was around it when it was made. */
export class Kept extends Component<Props> {
  override shouldComponentUpdate({ by }: Props): boolean {
    return by.some((it, at) => it !== this.props.by[at]);
  }

  override render({ children }: Props): ComponentChildren {
    return children;
  }
}
