import "../design/tokens.css";
import "../design/base.css";
import { mount } from "svelte";
import { answerBy } from "../api/client";
import { route } from "../app/route.svelte";
import { Inside, partsOf, type Index } from "./inside";
import Shared from "./Shared.svelte";

const target = document.getElementById("page");
const written = document.getElementById("index");
if (target !== null && written !== null) {
  const index = JSON.parse(written.textContent) as Index;
  const inside = new Inside(index, partsOf(document));
  answerBy((address) => inside.answer(address));
  route.refine({ problem: index.problem, benches: index.benches, view: route.address.view === "runs" ? "verdict" : route.address.view });
  mount(Shared, { target, props: { index } });
}
