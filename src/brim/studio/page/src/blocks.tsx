// A list of thousands of rows of any height: drawn block by block, as they come near the window.
import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";

/** Parts in one block. */
const SIZE = 24;
/** Parts that are drawn at once, so that the browser's own search finds them. */
export const FEW = 200;
/** How far from the window a block is drawn. */
const NEAR = "120% 0px";

/** Returns items in blocks; the same items give the same blocks. */
export function useBlocks<T>(items: readonly T[]): readonly (readonly T[])[] {
  return useMemo(() => Array.from({ length: Math.ceil(items.length / SIZE) }, (_, i) => items.slice(i * SIZE, (i + 1) * SIZE)), [items]);
}

interface BlockProps<T> {
  items: readonly T[];
  draw: (item: T) => VNode;
  /** The height of an item that is not drawn yet, in pixels. */
  guess: (item: T) => number;
  /** Whether it is drawn wherever it is. */
  needed: boolean;
  /** What the drawing depends on, besides the items: it is drawn again if this changes. */
  state: string;
}

export function Block<T>({ items, draw, guess, needed, state }: BlockProps<T>) {
  const near = useSignal(false);
  const box = useRef<HTMLOListElement>(null);
  const drawn = near.value || needed;
  useEffect(() => {
    if (drawn || !box.current) {
      near.value = drawn;
      return;
    }
    const watch = new IntersectionObserver((seen) => (near.value = seen.some((each) => each.isIntersecting)), { rootMargin: NEAR });
    watch.observe(box.current);
    return () => watch.disconnect();
  }, [drawn]);
  const inside = useMemo(() => (drawn ? items.map(draw) : null), [items, drawn, state]);
  const height = useMemo(() => (drawn ? undefined : { height: `${items.reduce((sum, item) => sum + guess(item), 0)}px` }), [items, drawn]);
  return (
    <ol ref={box} style={height}>
      {inside}
    </ol>
  );
}
