#include "rpc/hub/web/pages.h"

#include "rpc/http/asset_page.h"
#include "rpc/hub/web/assets.h"

namespace hone::hub::web {

http::HttpPages asset_pages() {
  http::HttpPages out;
  for (const Asset& asset : assets())
    out.emplace(http::asset_path(asset.name), http::asset_page(asset.name, asset.bytes));
  return out;
}

}  // namespace hone::hub::web
