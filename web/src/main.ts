import "./design/tokens.css";
import "./design/base.css";
import { mount } from "svelte";
import App from "./app/App.svelte";
import { live } from "./app/live.svelte";

const target = document.getElementById("page");
if (target !== null) {
  live.listen();
  mount(App, { target });
}
