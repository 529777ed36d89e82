/** Part of the page that renders only when its inputs change. */

import { Component, type ComponentChildren } from "preact";

interface Props {
  /** Values that the children depend on. A changed value causes rendering. */
  inputs: readonly unknown[];
  children: ComponentChildren;
}

/** `useMemo` with an element would retain the whole page as it was when the element was made. */
export class Memo extends Component<Props> {
  override shouldComponentUpdate({ inputs }: Props): boolean {
    return inputs.some((it, at) => it !== this.props.inputs[at]);
  }

  override render({ children }: Props): ComponentChildren {
    return children;
  }
}
